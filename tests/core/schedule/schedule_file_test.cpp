// Schedules as text: written, read back, and every way in which a file is wrong.
#include "schedule/schedule_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "../plan/planning.hpp"

using namespace planning;

namespace {

const std::string model_text = deep(5) + on(2) + training;

/// Six layers in four stages on two devices, under any schedule; two micro-batches.
std::vector<std::string> sets(const std::string& schedule) {
  return {"placement.contiguous.chunks=2", "placement.policy=contiguous", "schedule.micro_batches=2",
          "schedule.type=" + schedule};
}

/// A file of this text in the test's folder.
class TextFile {
 public:
  explicit TextFile(const std::string& text) : path_(std::filesystem::temp_directory_path() / unique()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  TextFile(const TextFile&) = delete;
  ~TextFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  static std::string unique() { return "schedule_file_test." + std::to_string(std::random_device()()); }
  std::filesystem::path path_;
};

std::vector<std::string> sets_of(const TextFile& file) {
  std::vector<std::string> all = sets("file");
  all.push_back("schedule.file=\"" + file.path() + "\"");
  return all;
}

/// What planning with this schedule ends with; the path of the file is left out.
std::string refused(const std::string& text) {
  const TextFile file(text);
  std::string error = refusal(model_text, sets_of(file));
  for (std::size_t at; (at = error.find(file.path())) != std::string::npos;) error.replace(at, file.path().size(), "F");
  return error;
}

const std::string first = "cpu:0: F0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.0 B0.1\n";
const std::string second = "cpu:1: F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 B1.0 B1.1\n";

}  // namespace

TEST_CASE("what a plan writes gives the same plan again") {
  for (const char* schedule : {"1f1b", "gpipe", "interleaved", "zb_h1", "zbv"}) {
    CAPTURE(std::string(schedule));
    const Planned planned = make(model_text, sets(schedule));
    const TextFile file(schedule_text(planned.plan, *planned.model));
    const Plan again = make(model_text, sets_of(file)).plan;
    CHECK(again.schedule == "file");
    CHECK(again.prediction.step_s == planned.plan.prediction.step_s);
    for (std::size_t d = 0; d < 2; ++d) {
      REQUIRE(again.train[d].size() == planned.plan.train[d].size());
      for (std::size_t p = 0; p < again.train[d].size(); ++p)
        CHECK(action_text(again.train[d][p]) == action_text(planned.plan.train[d][p]));
      CHECK(again.memory[d].peak() == planned.plan.memory[d].peak());
    }
  }
}

TEST_CASE("comments, blank lines, spaces and the order of lines do not matter") {
  CHECK(refused(first + second) == "");
  CHECK(refused("# a comment\n\n \t\n" + second + "  cpu:0:\tF0.0   F0.1 F2.0 F2.1 B2.0 B2.1 B0.0 B0.1 # end\r\n") ==
        "");
}

TEST_CASE("the plan follows the file, not a schedule of its own") {
  const TextFile file(first + second);
  const Plan plan = make(model_text, sets_of(file)).plan;
  REQUIRE(plan.train[0].size() == 8);
  CHECK(action_text(plan.train[0][3]) == "F of stage 2, micro-batch 1");
}

TEST_CASE("a wrong or missing action is named with line, column, device and position") {
  CHECK(refused("cpu:0: F0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.0\n" + second) ==
        "F:1:42: device cpu:0, action 7: B of stage 0, micro-batch 1 is missing");
  CHECK(contains(refused(first + "\ncpu:1: F1.0 F1.1 B3.0\n"), "F:3:18: device cpu:1, action 2: B of stage 3"));
  CHECK(contains(refused(first + "cpu:1: F0.0\n"),
                 "F:2:8: device cpu:1, action 0: F of stage 0, micro-batch 0: the stage"));
  CHECK(contains(refused("cpu:0: F0.0 F0.1 F0.2\n" + second),
                 "F:1:18: device cpu:0, action 2: F of stage 0, micro-batch 2"));
}

TEST_CASE("what is no action is named, every such word at once") {
  const std::string error = refused("cpu:0: F0.0 G0.1 F0 F0.x F0.-1 F.0 F0.99999999999 FF0.0 0.0 .\n" + second);
  for (const char* part :
       {"F:1:13: device cpu:0, action 1: 'G0.1' is no action", "F:1:18: device cpu:0, action 2: 'F0'",
        "F:1:21: device cpu:0, action 3: 'F0.x'", "'F0.-1'", "'F.0'", "'F0.99999999999'", "'FF0.0'", "'0.0'", "'.'"})
    CHECK_MESSAGE(contains(error, part), error);
}

TEST_CASE("devices: unknown, twice, without a line, without a colon") {
  CHECK(contains(refused(first + second + "cpu:2: F0.0\n"),
                 "F:3:1: device cpu:2 is not among devices.use: cpu:0, cpu:1"));
  CHECK(contains(refused(first + second + first), "F:3:1: device cpu:0 has a line already, line 1"));
  CHECK(contains(refused(first), "F: there is no line for device cpu:1, which holds stage 1"));
  CHECK(contains(refused(""), "there is no line for device cpu:0"));
  CHECK(contains(refused("cpu:0 F0.0\n"), "F:1:1: 'cpu:0' is no device: a line is DEVICE: ACTION"));
  CHECK(contains(refused(": F0.0\n"), "F:1:1: ':' is no device"));
}

TEST_CASE("devices that wait for each other forever are named with the action at which they wait") {
  const std::string error = refused("cpu:0: F0.0 B0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.1\n" + second);
  CHECK(contains(error,
                 "F: the schedule cannot end: device 0 waits at B of stage 0, micro-batch 0 for a tensor from stage "
                 "1 (its action 1)"));
}

TEST_CASE("a file that cannot be read is an error at the key") {
  for (const char* path : {"/nowhere/schedule.txt", "/tmp"}) {
    std::vector<std::string> all = sets("file");
    all.push_back(std::string("schedule.file=") + path);
    CHECK(contains(refusal(model_text, all), std::string("schedule.file: '") + path + "'"));
  }
}

TEST_CASE("a placement that the file is not for is refused; policies are not disturbed by it") {
  const TextFile file(first + second);
  std::vector<std::string> other = sets_of(file);
  other.push_back("placement.policy=memory_balanced");  // two stages
  CHECK(contains(refusal(model_text, other), "there is no such stage; the placement has 2"));
}

TEST_CASE("cut or garbled text is read or refused, never more") {
  const std::string good = "# two devices\n" + first + second;
  const auto read = [](const std::string& text) {
    try {
      ScheduleFile::parse(text, "F");
    } catch (const Error& e) {
      CHECK(e.code() == SY_E_CONFIG);
      CHECK(std::string(e.what()).starts_with("F:"));
    }
  };
  for (std::size_t n = 0; n <= good.size(); ++n) {
    read(good.substr(0, n));
    if (n < good.size() - 1 && n > 14) CHECK(refused(good.substr(0, n)) != "");
  }
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int change = 0; change < 1 + round % 4; ++change)
      text[random() % text.size()] = static_cast<char>(round % 2 ? random() % 256 : "FBIWR01234.: #\n"[random() % 15]);
    read(text);
  }
  read(std::string(100000, 'x'));
  read(std::string(100000, '\0'));
}
