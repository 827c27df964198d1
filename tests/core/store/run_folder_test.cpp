#include "store/run_folder.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "store/checkpoint.hpp"
#include "temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;
namespace fs = std::filesystem;

TEST_CASE("runs are counted up by the stem of the configuration") {
  TempFolder folder;
  const std::string runs = folder / "runs";
  CHECK(RunFolder::next("examples/train_a_book.toml", runs).path() == runs + "/train_a_book-001");
  CHECK(RunFolder::next("train_a_book.toml", runs).path() == runs + "/train_a_book-002");
  CHECK(RunFolder::next("train_a.toml", runs).path() == runs + "/train_a-001");
  CHECK(fs::read_symlink(runs + "/latest") == "train_a-001");
  CHECK(fs::is_directory(runs + "/latest"));
  fs::create_directory(runs + "/train_a-041");
  fs::create_directory(runs + "/train_a-x99");
  fs::remove(runs + "/train_a-001");
  CHECK(RunFolder::next("train_a.toml", runs).path() == runs + "/train_a-042");
  fs::create_directory(runs + "/b-999");
  CHECK(RunFolder::next("b.toml", runs).path() == runs + "/b-1000");
}

TEST_CASE("a folder that somebody called latest is left alone") {
  TempFolder folder;
  fs::create_directory(folder / "latest");
  RunFolder::next("a.toml", folder.path());
  CHECK(fs::is_directory(fs::symlink_status(folder / "latest")));
}

TEST_CASE("--out takes a new or an empty folder, and not one with a checkpoint") {
  TempFolder folder;
  const RunFolder run = RunFolder::at(folder / "a/b/");
  CHECK(run.path() == folder / "a/b");
  CHECK(fs::is_directory(run.path()));
  CHECK(RunFolder::at(run.path()).path() == run.path());  // empty
  CHECK(!RunFolder::is_run(run.path()));
  save_checkpoint(run.path(), 1, {}, 1);
  CHECK(RunFolder::is_run(run.path()));
  CHECK(run.model() == run.path() + "/checkpoint/model.safetensors");
  CHECK((fs::exists(run.model()) && fs::exists(run.optimizer())));
  const std::string text = failure([&] { RunFolder::at(run.path()); });
  CHECK(text.starts_with(std::to_string(SY_E_CONFIG)));
  CHECK(contains(text, "--resume '" + run.path() + "'"));
}

TEST_CASE("--out never replaces a configuration that no run wrote") {
  TempFolder folder;
  write_file(folder / "config.toml", "seed = 1");
  CHECK(contains(failure([&] { RunFolder::at(folder.path()); }), "holds a config.toml that no run wrote"));
  write_file(folder / "plan.json", "{}");  // a run that ended before its first checkpoint
  CHECK(RunFolder::at(folder.path()).path() == folder.path());
  write_file(folder / "file", "");
  CHECK(contains(failure([&] { RunFolder::at(folder / "file"); }), "is not a folder"));
}

TEST_CASE("--resume needs a run with a checkpoint") {
  TempFolder folder;
  CHECK(contains(failure([&] { RunFolder::existing(folder / "no"); }), "is not the folder of a run"));
  CHECK(contains(failure([&] { RunFolder::existing(folder.path()); }), "has no complete checkpoint"));
  save_checkpoint(folder.path(), 1, {}, 1);
  CHECK(RunFolder::existing(folder.path() + "/").path() == folder.path());
  CHECK(contains(failure([&] { RunFolder::existing(folder / "checkpoints/step-000001"); }),
                 "give the folder of its run"));
}
