// Two writers of one folder: the second is told, whichever process it is in.
#include "store/folder_lock.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "store/checkpoint.hpp"
#include "temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;
namespace fs = std::filesystem;

namespace {

/// A child process that holds `folder` until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& folder) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    child_ = fork();
    if (child_ == 0) {
      const FolderLock lock(folder);
      if (write(ready[1], "", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_ = -1;
};

std::string refused(const std::string& folder) {
  return std::to_string(SY_E_UNAVAILABLE) + " another run, or another program, is writing into '" + folder +
         "' now; wait until it ends, or choose another folder";
}

}  // namespace

TEST_CASE("a folder has one lock at a time, and it leaves nothing behind") {
  TempFolder folder;
  auto first = std::make_unique<FolderLock>(folder.path());
  CHECK(failure([&] { FolderLock(folder.path() + "/"); }) == refused(folder.path() + "/"));
  first.reset();
  CHECK(failure([&] { FolderLock(folder.path()); }) == "");
  CHECK(fs::is_empty(folder.path()));
  CHECK(failure([&] { FolderLock(folder / "no"); }).starts_with(std::to_string(SY_E_NOT_FOUND)));
}

TEST_CASE("another process keeps a folder until it ends, also by a kill") {
  TempFolder folder;
  {
    const Holder other(folder.path());
    CHECK(failure([&] { FolderLock(folder.path()); }) == refused(folder.path()));
  }
  CHECK(failure([&] { FolderLock(folder.path()); }) == "");
}

TEST_CASE("a save beside another one is refused, and the checkpoint stays") {
  TempFolder run;
  save_checkpoint(run.path(), 1, {}, 2);
  {
    const Holder other(run / "checkpoints");
    CHECK(failure([&] { save_checkpoint(run.path(), 2, {}, 2); }) == refused(run / "checkpoints"));
    CHECK(open_checkpoint(run.path()).step == 1);
  }
  save_checkpoint(run.path(), 2, {}, 2);
  CHECK(open_checkpoint(run.path()).step == 2);
}

TEST_CASE("a save is refused while another one is at work in the same process") {
  TempFolder run;
  CheckpointContent content;
  std::string inner;
  const std::int64_t count = 4;
  content.model = {{"w", dtype::f32, {count}, [&](std::uint64_t, std::span<std::byte> to) {
                      std::fill(to.begin(), to.end(), std::byte{0});
                      inner = failure([&] { save_checkpoint(run.path(), 2, {}, 2); });
                    }}};
  save_checkpoint(run.path(), 1, content, 2);
  CHECK(inner == refused(run / "checkpoints"));
  CHECK(open_checkpoint(run.path()).step == 1);
}
