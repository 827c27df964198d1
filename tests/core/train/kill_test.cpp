// A process that is killed at any moment leaves a run that goes on bit for bit.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "small_models.hpp"
#include "store/run_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

/// Trains in a child that is killed after `delay`; the child begins the run or goes on with it.
void train_and_kill(const Workshop& shop, std::chrono::microseconds delay) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      const std::vector<std::string> sets = {"checkpoint.every=1", "train.steps=40"};
      if (RunFolder::is_run(shop / "run"))
        resume(shop.text(), shop / "run", sets);
      else
        train(shop.text(), shop / "run", sets);
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  std::this_thread::sleep_for(delay);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
}

}  // namespace

TEST_CASE("kill -9 at random moments: every resume starts from a complete checkpoint and ends as if never killed") {
  const Workshop shop;
  registry().names(SY_KIND_LAYER);  // loaded before the first fork
  std::mt19937 random(7);
  std::uniform_int_distribution<int> delay(1000, 150000);
  for (int i = 0; i < 12; ++i) train_and_kill(shop, std::chrono::microseconds(delay(random)));
  const std::vector<std::string> sets = {"checkpoint.every=1", "train.steps=40"};
  if (RunFolder::is_run(shop / "run"))
    resume(shop.text(), shop / "run", sets);
  else
    train(shop.text(), shop / "run", sets);
  train(shop.text(), shop / "whole", {"train.steps=40"});
  CHECK(model_file(shop / "run") == model_file(shop / "whole"));
  CHECK(optimizer_file(shop / "run") == optimizer_file(shop / "whole"));
}
