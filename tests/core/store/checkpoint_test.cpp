#include "store/checkpoint.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <random>
#include <set>

#include "base/error.hpp"
#include "temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;
namespace fs = std::filesystem;

namespace {

/// A tensor whose every element is `value`.
TensorSource constant(const std::string& name, std::int64_t count, std::int32_t value) {
  return {name, dtype::i32, {count}, [value](std::uint64_t, std::span<std::byte> to) {
            for (std::size_t i = 0; i < to.size(); i += 4) std::memcpy(to.data() + i, &value, 4);
          }};
}

CheckpointContent content_of(std::int32_t value, std::int64_t count = 4) {
  return {{constant("w", count, value)}, {constant("w.m", count, value)}, {{"seed", "5"}}};
}

void save(const std::string& run, std::int64_t step, int keep = 2) {
  save_checkpoint(run, step, content_of(static_cast<std::int32_t>(step)), keep);
}

std::set<std::string> names(const std::string& folder) {
  std::set<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder)) result.insert(entry.path().filename().string());
  return result;
}

std::int32_t first_value(const SafetensorsFile& file, const std::string& name) {
  std::int32_t value = 0;
  std::memcpy(&value, file.bytes(file.at(name)).data(), 4);
  return value;
}

/// Opens the run's checkpoint and checks that both files belong to one step.
std::int64_t whole_step(const std::string& run) {
  const Checkpoint checkpoint = open_checkpoint(run);
  CHECK(first_value(checkpoint.model, "w") == checkpoint.step);
  CHECK(first_value(checkpoint.optimizer, "w.m") == checkpoint.step);
  return checkpoint.step;
}

/// Waits until the link changes, at most 20 seconds.
void wait_for_save(const std::string& run) {
  const fs::path before = fs::read_symlink(run + "/checkpoint");
  for (int i = 0; i < 20000 && fs::read_symlink(run + "/checkpoint") == before; ++i) usleep(1000);
}

enum class End { killed, done, untraceable };

/// Runs `act` in a child that is killed when it is about to make its n-th system call.
template <class Act>
End killed_before_call(int n, Act act) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(9);
    raise(SIGSTOP);
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (int stops = 0; WIFSTOPPED(status); ++stops) {  // two for each call: before and after
    if (stops == 2 * n - 1)
      kill(child, SIGKILL);
    else
      ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
  }
  if (WIFSIGNALED(status)) return End::killed;
  return WEXITSTATUS(status) == 9 ? End::untraceable : End::done;
}

/// Kills a save of `step` over one of step 5 before each of its system calls in turn.
void kill_everywhere(std::int64_t step) {
  End end = End::killed;
  int calls = 0;
  for (int n = 1; end == End::killed; ++n, ++calls) {
    TempFolder run;
    save_checkpoint(run.path(), 5, content_of(1), 2);
    end = killed_before_call(n, [&] { save_checkpoint(run.path(), step, content_of(2), 2); });
    if (end == End::untraceable) {
      std::cout << "[skipped] processes cannot be traced here\n";
      return;
    }
    REQUIRE(fs::is_regular_file(run / "checkpoint/model.safetensors"));
    const Checkpoint found = open_checkpoint(run.path());
    const std::int32_t value = first_value(found.model, "w");
    REQUIRE(first_value(SafetensorsFile::open(run / "checkpoint/model.safetensors"), "w") == value);
    REQUIRE(first_value(found.optimizer, "w.m") == value);
    REQUIRE(found.step == (value == 1 ? 5 : step));
    REQUIRE((end == End::killed || value == 2));
    save_checkpoint(run.path(), 20, content_of(3), 1);
    REQUIRE(names(run / "checkpoints") == std::set<std::string>{"step-000020"});
    REQUIRE(names(run.path()) == std::set<std::string>{"checkpoint", "checkpoints"});
  }
  CHECK(calls > 20);
}

}  // namespace

TEST_CASE("a checkpoint is a pair behind one path") {
  TempFolder run;
  save(run.path(), 100);
  CHECK(SafetensorsFile::open(run / "checkpoint/model.safetensors").find("w"));
  CHECK(SafetensorsFile::open(run / "checkpoint/optimizer.safetensors").metadata() ==
        std::map<std::string, std::string>{{"seed", "5"}, {"step", "100"}});
  CHECK(names(run.path()) == std::set<std::string>{"checkpoint", "checkpoints"});
  CHECK(names(run / "checkpoints") == std::set<std::string>{"step-000100"});
  const Checkpoint checkpoint = open_checkpoint(run.path());
  CHECK(checkpoint.step == 100);
  CHECK(checkpoint.state().at("seed") == "5");
  CHECK(checkpoint.paths.folder == run / "checkpoints/step-000100");
  CHECK(checkpoint.paths.notes.empty());
}

TEST_CASE("equal weights give equal model files, whatever the step") {
  TempFolder run;
  save_checkpoint(run.path(), 1, content_of(7), 2);
  save_checkpoint(run.path(), 2, content_of(7), 2);
  CHECK(read_file(run / "checkpoints/step-000001/model.safetensors") ==
        read_file(run / "checkpoints/step-000002/model.safetensors"));
}

TEST_CASE("the newest are kept") {
  TempFolder run;
  for (std::int64_t step : {1, 2, 3, 10}) save(run.path(), step, 2);
  CHECK(names(run / "checkpoints") == std::set<std::string>{"step-000003", "step-000010"});
  CHECK(whole_step(run.path()) == 10);
  save(run.path(), 11, 0);  // at least one
  CHECK(names(run / "checkpoints") == std::set<std::string>{"step-000011"});
}

TEST_CASE("the same step can be saved again") {
  TempFolder run;
  save(run.path(), 5, 1);
  save_checkpoint(run.path(), 5, content_of(55), 1);
  CHECK(first_value(open_checkpoint(run.path()).model, "w") == 55);
  CHECK(open_checkpoint(run.path()).step == 5);
  save_checkpoint(run.path(), 5, content_of(56), 1);
  CHECK(first_value(open_checkpoint(run.path()).model, "w") == 56);
  CHECK(names(run / "checkpoints").size() == 1);
}

TEST_CASE("going back to an earlier step wins over later ones on the disk") {
  TempFolder run;
  save(run.path(), 10, 3);
  save(run.path(), 20, 3);
  fs::remove(run / "checkpoint");
  fs::create_symlink("checkpoints/step-000010", run / "checkpoint");
  save(run.path(), 15, 3);
  CHECK(whole_step(run.path()) == 15);
}

TEST_CASE("partial saves are ignored with a note and cleaned by the next save") {
  TempFolder run;
  save(run.path(), 1);
  fs::create_directory(run / "checkpoints/partial-step-000002");
  write_file(run / "checkpoints/partial-step-000002/model.safetensors", "half");
  write_file(run / "checkpoint.part-1", "");
  const auto found = find_checkpoint(run.path());
  REQUIRE(found);
  CHECK(found->folder == run / "checkpoints/step-000001");
  CHECK(found->notes ==
        std::vector<std::string>{"ignored the partial save '" + (run / "checkpoints/partial-step-000002") + "'"});
  save(run.path(), 2);
  CHECK(names(run / "checkpoints") == std::set<std::string>{"step-000001", "step-000002"});
  CHECK(names(run.path()) == std::set<std::string>{"checkpoint", "checkpoints"});
}

TEST_CASE("a pair that was not linked yet is found, and replaced by a new save of its step") {
  TempFolder run;
  save(run.path(), 1);
  save(run.path(), 2);
  fs::remove(run / "checkpoint");
  CHECK(whole_step(run.path()) == 2);
  fs::create_symlink("checkpoints/step-000001", run / "checkpoint");
  CHECK(whole_step(run.path()) == 1);
  save(run.path(), 2);
  CHECK(names(run / "checkpoints") == std::set<std::string>{"step-000001", "step-000002"});
  CHECK(whole_step(run.path()) == 2);
}

TEST_CASE("a copied run, whose link became a folder, can be read and continued") {
  TempFolder run, copy;
  save(run.path(), 3);
  fs::copy(run / "checkpoints/step-000003", copy / "checkpoint");
  CHECK(whole_step(copy.path()) == 3);
  CHECK(open_checkpoint(run / "checkpoints/step-000003").step == 3);  // a pair by itself
  save(copy.path(), 4);
  CHECK(fs::is_symlink(copy / "checkpoint"));
  CHECK(whole_step(copy.path()) == 4);
  CHECK(names(copy / "checkpoints") == std::set<std::string>{"step-000004"});
}

TEST_CASE("what is missing or broken is named") {
  TempFolder run;
  CHECK(!find_checkpoint(run.path()));
  CHECK(failure([&] { open_checkpoint(run.path()); }) == "5 '" + run.path() + "' has no checkpoint");
  fs::create_directories(run / "checkpoints/step-000001");
  write_file(run / "checkpoints/step-000001/model.safetensors", "x");
  CHECK(!find_checkpoint(run.path()));  // half a pair
  save(run.path(), 2);
  write_safetensors(run / "checkpoint/optimizer.safetensors", {}, {{"step", "two"}});
  CHECK(contains(failure([&] { open_checkpoint(run.path()); }), "the metadata has no number of steps"));
}

TEST_CASE("a save that fails leaves the earlier checkpoint and no rest") {
  TempFolder run;
  save(run.path(), 1);
  CheckpointContent broken = content_of(2);
  broken.optimizer[0].fill = [](std::uint64_t, std::span<std::byte>) { throw Error(SY_E_DEVICE, "gone"); };
  CHECK(failure([&] { save_checkpoint(run.path(), 2, broken, 2); }) == "67 gone");
  CHECK(names(run / "checkpoints") == std::set<std::string>{"step-000001"});
  CHECK(whole_step(run.path()) == 1);
}

TEST_CASE("no room on the disk: an error, and the earlier checkpoint is intact") {
  TempFolder run;
  save(run.path(), 1);
  // A limit on file sizes stands for a full disk: write() fails in the same way.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 64 << 10;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = failure([&] { save_checkpoint(run.path(), 2, content_of(2, 1 << 20), 2); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  CHECK(text.starts_with(std::to_string(SY_E_UNAVAILABLE) + " cannot write"));
  CHECK(contains(text, "model.safetensors"));
  CHECK(names(run / "checkpoints") == std::set<std::string>{"step-000001"});
  CHECK(whole_step(run.path()) == 1);
}

TEST_CASE("killed before any of its system calls, a save leaves a whole checkpoint and nothing that stays") {
  SUBCASE("of a later step") { kill_everywhere(6); }
  SUBCASE("of the same step again") { kill_everywhere(5); }
}

TEST_CASE("killed at any moment, there is always a whole checkpoint") {
  TempFolder run;
  save(run.path(), 1);
  std::mt19937 random(3);
  std::int64_t last = 1;
  std::set<std::int64_t> steps;
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::int64_t step = last + 1;; ++step)
        save_checkpoint(run.path(), step, content_of(static_cast<std::int32_t>(step), 20000), 2);
    }
    if (round % 5 == 0) wait_for_save(run.path());  // on a busy machine a child may not get that far by itself
    usleep(random() % 20000);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(fs::is_regular_file(run / "checkpoint/model.safetensors"));
    const std::int64_t step = whole_step(run.path());
    REQUIRE(step >= last);
    last = step;
    steps.insert(step);
  }
  CHECK(steps.size() > 5);
  save(run.path(), last + 1);
  CHECK(names(run / "checkpoints").size() == 2);
}
