// What an error says would help does help; what would not is not said.
#include <doctest/doctest.h>

#include <regex>

#include "planning.hpp"
#include "saver.hpp"

using namespace planning;

namespace {

struct Scene {
  std::string text;
  std::vector<std::string> sets;
  std::string refused(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), sets.begin(), sets.end());
    return refusal(text, more, with_saver());
  }
  Plan planned(std::vector<std::string> more) const {
    more.insert(more.begin(), sets.begin(), sets.end());
    return make(text, more, with_saver()).plan;
  }
};

/// "a.b = 1, c.d = [2, 3] (step +1 %) or e = 4 (...); each is checked" as lists of --set arguments.
std::vector<std::vector<std::string>> remedies_in(const std::string& error) {
  const std::string begin = "; what helps: ";
  const auto at = error.find(begin);
  if (at == std::string::npos) return {};
  std::string text = error.substr(at + begin.size());
  text.resize(text.rfind("; "));
  text = std::regex_replace(text, std::regex(R"(, all together)"), "");
  std::vector<std::vector<std::string>> all;
  static const std::regex one(R"((.*?) \([^()]*step[^()]*\)( or )?)"), key(R"((, |^)([a-z_]+\.[a-z_.]+) = )");
  for (std::sregex_iterator r(text.begin(), text.end(), one), end; r != end; ++r) {
    const std::string changes = (*r)[1];
    std::vector<std::string> sets;
    std::sregex_iterator k(changes.begin(), changes.end(), key);
    for (; k != end; ++k) {
      const auto next = std::next(k);
      const auto value = static_cast<std::size_t>(k->position() + k->length());
      sets.push_back(
          (*k)[2].str() + "=" +
          changes.substr(value, next == end ? std::string::npos : static_cast<std::size_t>(next->position()) - value));
    }
    all.push_back(sets);
  }
  return all;
}

/// Each remedy, given as --set, makes it fit; returns all of them as one text.
std::string check_remedies(const Scene& s) {
  const std::string error = s.refused();
  INFO(error);
  REQUIRE(contains(error, "does not fit on "));
  std::string all;
  for (const auto& sets : remedies_in(error)) {
    REQUIRE(!sets.empty());
    for (const std::string& set : sets) all += set + "\n";
    CAPTURE(sets.front());
    CHECK(s.refused(sets) == "");
  }
  return all;
}

}  // namespace

TEST_CASE("weights that do not fit: another cut or one more device; neither recompute nor micro-batches") {
  Scene s{deep(8, 64) + on(2) + training, {"placement.policy=contiguous", "placement.contiguous.cuts=[\"h.7\"]"}};
  s.sets.push_back("devices.memory=400KiB");
  const std::string all = check_remedies(s);
  INFO(all);
  CHECK(contains(all, "placement.contiguous.cuts=[\"h."));
  CHECK(!contains(all, "recompute"));
  CHECK(!contains(all, "micro_batches"));
  CHECK(s.refused({"train.recompute=auto"}) != "");
  CHECK(s.refused({"schedule.micro_batches=16"}) != "");
}

TEST_CASE("one more device, with its budget") {
  Scene s{deep(8, 64) + on(2) + training, {"placement.policy=contiguous", "devices.memory=[\"250KiB\", \"250KiB\"]"}};
  const std::string all = check_remedies(s);
  INFO(all);
  CHECK(contains(all, "devices.use=[\"cpu:0\", \"cpu:1\", \"cpu:2\"]"));
  CHECK(contains(all, "devices.memory=[256000, 256000, 256000]"));
}

TEST_CASE("activations that do not fit: as many micro-batches as it takes") {
  const Scene s{deep(8, 4) + on(2) + training,
                {"placement.policy=contiguous", "devices.memory=40KiB", "train.batch=512"}};
  const std::string all = check_remedies(s);
  INFO(all);
  CHECK(contains(all, "schedule.micro_batches="));
  const auto at = all.find("schedule.micro_batches=");
  const int count = std::stoi(all.substr(at + 23));
  REQUIRE(count > 2);
  CHECK(s.refused({"schedule.micro_batches=" + std::to_string(count / 2)}) != "");
}

TEST_CASE("activations that recomputing frees: which layers, what it costs; the shortest step is named first") {
  Scene s{model_of(std::vector<One>(6, {1000, 1000000})) + on(2) + training,
          {"placement.policy=contiguous", "train.batch=64", "schedule.micro_batches=4"}};
  const auto peak = [&](const char* recompute) {
    return s.planned({std::string("train.recompute=") + recompute}).memory[0].peak();
  };
  REQUIRE(peak("true") < peak("false"));
  s.sets.push_back("devices.memory=" + std::to_string(peak("false") - 1));
  const std::string all = check_remedies(s), error = s.refused();
  INFO(error);
  CHECK(contains(all, "train.recompute=\"auto\""));
  CHECK(contains(error, "(recomputes s."));
  CHECK(contains(error, ", step +"));
  std::vector<double> steps;
  for (const auto& sets : remedies_in(error)) steps.push_back(s.planned(sets).prediction.step_s);
  CHECK(steps.size() > 1);
  CHECK(std::is_sorted(steps.begin(), steps.end()));
}

TEST_CASE("the policies that search are refused in the same words") {
  for (const char* policy : {"memory_balanced", "time_balanced"}) {
    const Scene s{deep(8, 64) + on(2) + training, {std::string("placement.policy=") + policy, "devices.memory=250KiB"}};
    const std::string error = s.refused();
    INFO(error);
    CHECK(contains(error, " short); largest item: optimizer states, "));
    CHECK(contains(error, std::string("nothing fits: no split found by ") + policy + " comes closer"));
    CHECK(contains(check_remedies(s), "devices.use="));
  }
}

TEST_CASE("nothing helps by itself: all together, or not even that") {
  Scene s{deep(8, 64) + on(1) + training, {"train.batch=4096", "devices.memory=450KiB"}};
  const std::string together = s.refused();
  INFO(together);
  CHECK(contains(together, ", all together (step "));
  check_remedies(s);
  s.sets.back() = "devices.memory=20KiB";
  const std::string never = s.refused();
  INFO(never);
  CHECK(contains(never, "checked, and not enough even together: train.recompute = \"auto\", devices.use = "));
  CHECK(!contains(never, "what helps"));
}
