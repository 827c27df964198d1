// The plan as a page: page/ holds what it looks like, this file puts the numbers into it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "plan/page/page.hpp"
#include "plan/plan.hpp"
#include "plan/timeline.hpp"
#include "plugin/version.hpp"

namespace switchyard {

namespace {

using Json = nlohmann::ordered_json;

/// More would make the page slow, and a lane too dense to be read.
constexpr std::size_t most_actions = 50000;

/// Where numbers are large: the device that is idle most, and the one with the highest peak, as a share of its budget
/// where it has one.
std::set<std::size_t> remarkable_devices(const Plan& plan) {
  const auto largest = [&](auto value) {
    std::size_t at = 0;
    for (std::size_t d = 1; d < plan.devices.size(); ++d)
      if (value(d) > value(at)) at = d;
    return at;
  };
  const auto filled = [&](std::size_t d) {
    const auto peak = static_cast<double>(plan.memory[d].peak());
    return plan.devices[d].budget == no_budget ? peak : peak / static_cast<double>(plan.devices[d].budget);
  };
  return {largest([&](std::size_t d) { return plan.prediction.idle[d]; }), largest(filled)};
}

/// All devices, or so many at equal distances, with the remarkable ones, that no more than most_actions are drawn.
std::set<std::size_t> drawn_devices(const Plan& plan) {
  const std::size_t devices = plan.devices.size();
  std::size_t actions = 0;
  for (const auto& program : plan.train) actions += program.size();
  const std::size_t share = (actions + most_actions - 1) / most_actions, step = std::max<std::size_t>(share, 1);
  std::set<std::size_t> drawn = step > 1 ? remarkable_devices(plan) : std::set<std::size_t>();
  for (std::size_t d = 0; d < devices; d += step) drawn.insert(d);
  return drawn;
}

Json lane(const Timeline& timeline, std::size_t d) {
  Json actions = Json::array(), memory = Json::array();
  for (const TimedAction& a : timeline.actions[d])
    actions.push_back({kind_letter(a.action.kind), a.action.stage, a.action.micro_batch, a.begin, a.end});
  for (const MemoryPoint& p : timeline.memory[d]) memory.push_back({p.at, p.bytes});
  return {{"device", d}, {"actions", std::move(actions)}, {"memory", std::move(memory)}};
}

/// {"seconds", "left_out", "devices": [{"device", "actions": [[kind, stage, micro-batch, begin, end]], "memory": [[at,
/// bytes]]}], "transfers": [[edge, micro-batch, begin, end]]} of one pass; left_out: devices.
Json timeline_json(const Plan& plan) {
  const Timeline timeline = timeline_of(plan);
  const std::set<std::size_t> drawn = drawn_devices(plan);
  Json json = {{"seconds", timeline.seconds}, {"left_out", plan.devices.size() - drawn.size()}};
  json["devices"] = json["transfers"] = Json::array();
  for (const std::size_t d : drawn) json["devices"].push_back(lane(timeline, d));
  const auto is_drawn = [&](int stage) { return drawn.count(static_cast<std::size_t>(plan.stages[stage].device)) > 0; };
  for (const TimedTransfer& t : timeline.transfers)
    if (is_drawn(plan.edges[t.edge].from) && is_drawn(plan.edges[t.edge].to))
      json["transfers"].push_back({t.edge, t.micro_batch, t.begin, t.end});
  return json;
}

/// JSON inside of a script element: "</script>" and "<!--" would end it or change how it is read, and a < occurs in
/// JSON's strings alone.
std::string within_script(const std::string& json) {
  std::string text;
  for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

std::string within_html(const std::string& plain) {
  std::string text;
  for (const char c : plain) {
    switch (c) {
      case '<':
        text += "&lt;";
        break;
      case '&':
        text += "&amp;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace

std::string plan_html(const Plan& plan, const Model& model, const std::string& title) {
  std::string html;
  std::string_view rest = page::html;
  const auto fill = [&](std::string_view slot, const std::string& text) {
    const std::size_t at = rest.find(slot);
    html.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + slot.size());
  };
  fill("{{title}}", within_html(title));
  fill("{{style}}", std::string(page::style));
  fill("{{title}}", within_html(title));
  fill("{{version}}", SWITCHYARD_VERSION);
  fill("{{plan}}", within_script(plan_json(plan, model)));
  fill("{{timeline}}", within_script(timeline_json(plan).dump()));
  fill("{{script}}", std::string(page::script));
  return html.append(rest);
}

}  // namespace switchyard
