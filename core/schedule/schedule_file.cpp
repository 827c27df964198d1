#include "schedule/schedule_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "plan/layer_list.hpp"
#include "schedule/find_fault.hpp"

namespace switchyard {

namespace {

constexpr const char* blanks = " \t\r";

/// Words of a line, without what follows a '#'.
class Words {
 public:
  explicit Words(std::string_view line) : line_(line.substr(0, line.find('#'))) {}
  /// The next one; empty at the end of the line.
  std::string_view next() {
    at_ = std::min(line_.find_first_not_of(blanks, end_), line_.size());
    end_ = std::min(line_.find_first_of(blanks, at_), line_.size());
    return line_.substr(at_, end_ - at_);
  }
  int column() const { return static_cast<int>(at_) + 1; }

 private:
  std::string_view line_;
  std::size_t at_ = 0, end_ = 0;
};

/// A number from `text` on, up to `end`; nothing: it is none, or too large.
std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '-' || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "F0.1": a letter, a stage, a micro-batch.
std::optional<Action> action_of(std::string_view word) {
  const auto dot = word.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  for (uint32_t kind = SY_ACT_F; kind <= SY_ACT_R; ++kind) {
    if (word[0] != kind_letter(kind)[0]) continue;
    const auto stage = number(word.substr(1, dot - 1)), micro_batch = number(word.substr(dot + 1));
    if (stage && micro_batch) return Action{kind, *stage, *micro_batch};
  }
  return std::nullopt;
}

std::string quoted(std::string_view word) {
  constexpr std::size_t most = 24;
  return "'" + on_one_line(std::string(word.substr(0, most))) + (word.size() > most ? "..." : "") + "'";
}

std::string names_of(const std::vector<PlanDevice>& devices) {
  std::string names;
  for (const PlanDevice& d : devices) names += (names.empty() ? "" : ", ") + d.name;
  return names;
}

}  // namespace

ScheduleFile ScheduleFile::read(const Placed& path) {
  const auto fail = [&](const std::string& why) {
    return Error(SY_E_CONFIG, path.place, "schedule.file: '" + path.text + "' " + why);
  };
  if (std::filesystem::is_directory(path.text)) throw fail("is a folder; wanted a file of plan --schedule");
  std::ifstream stream(path.text, std::ios::binary);
  if (!stream) throw fail(std::string("cannot be read: ") + std::strerror(errno));
  return parse({std::istreambuf_iterator<char>(stream), {}}, path.text);
}

ScheduleFile ScheduleFile::parse(const std::string& text, const std::string& name) {
  ScheduleFile file;
  file.name_ = name;
  ErrorList errors;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    Words words(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    ++number;
    const std::string_view first = words.next();
    if (first.empty()) continue;
    Line line{std::string(first), {name, number, words.column()}, {}, {}};
    if (!first.ends_with(':') || first.size() < 2) {
      errors.add(line.place,
                 quoted(first) + " is no device: a line is DEVICE: ACTION ACTION ..., such as cpu:0: F0.0 B0.0");
      continue;
    }
    line.device.pop_back();
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      if (const auto action = action_of(word))
        line.actions.push_back(*action);
      else
        errors.add({name, number, words.column()},
                   "device " + on_one_line(line.device) + ", action " + std::to_string(line.columns.size()) + ": " +
                       quoted(word) + " is no action: wanted F, B, I, W or R with STAGE.MICRO-BATCH, such as F0.1");
      line.columns.push_back(words.column());
    }
    line.columns.push_back(words.column());
    const auto twin = std::find_if(file.lines_.begin(), file.lines_.end(),
                                   [&](const Line& other) { return other.device == line.device; });
    if (twin != file.lines_.end())
      errors.add(line.place, "device " + on_one_line(line.device) + " has a line already, line " +
                                 std::to_string(twin->place.line) + "; put all of its actions there");
    file.lines_.push_back(std::move(line));
  }
  errors.raise();
  return file;
}

Place ScheduleFile::place_of(const Line& line, std::size_t position) const {
  return {name_, line.place.line, line.columns[std::min(position, line.columns.size() - 1)]};
}

std::vector<std::vector<Action>> ScheduleFile::programs(const std::vector<PlanDevice>& devices,
                                                        const std::vector<Stage>& stages, int micro_batches,
                                                        const std::vector<bool>& splits) const {
  std::vector<std::vector<Action>> programs(devices.size());
  std::vector<const Line*> line_of(devices.size(), nullptr);
  ErrorList errors;
  for (const Line& line : lines_) {
    const auto found =
        std::find_if(devices.begin(), devices.end(), [&](const PlanDevice& d) { return d.name == line.device; });
    if (found == devices.end()) {
      errors.add(line.place, "device " + on_one_line(line.device) + " is not among devices.use: " + names_of(devices));
      continue;
    }
    line_of[found - devices.begin()] = &line;
    programs[found - devices.begin()] = line.actions;
  }
  errors.raise();
  for (const Stage& s : stages)
    if (!line_of[s.device])
      throw Error(SY_E_CONFIG, Place{name_},
                  "there is no line for device " + devices[s.device].name + ", which holds stage " +
                      std::to_string(s.index) + ": " + action_text({SY_ACT_F, s.index, 0}) + " is missing");
  if (const auto fault = find_fault({stages, micro_batches, splits, false}, programs))
    throw Error(
        SY_E_CONFIG, place_of(*line_of[fault->device], fault->position),
        "device " + devices[fault->device].name + ", action " + std::to_string(fault->position) + ": " + fault->text);
  return programs;
}

std::string schedule_text(const Plan& plan, const Model& model) {
  std::string text = "# " + plan.schedule + " of " + std::to_string(plan.micro_batches) +
                     " micro-batches, for schedule.type = \"file\": KIND STAGE.MICRO-BATCH, from left to right\n";
  for (const Stage& s : plan.stages)
    text += "# stage " + std::to_string(s.index) + " on " + plan.devices[s.device].name + ": " +
            layer_list(model, s.first, s.last) + "\n";
  for (std::size_t d = 0; d < plan.train.size(); ++d) {
    text += plan.devices[d].name + ":";
    for (const Action& a : plan.train[d])
      text += std::string(" ") + kind_letter(a.kind) + std::to_string(a.stage) + "." + std::to_string(a.micro_batch);
    text += "\n";
  }
  return text;
}

}  // namespace switchyard
