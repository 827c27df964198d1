// The plan as a person reads it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plan/layer_list.hpp"
#include "plan/plan.hpp"
#include "report/progress.hpp"
#include "report/text_table.hpp"

namespace switchyard {

namespace {

std::string bytes(uint64_t n) { return n == 0 ? "-" : size_text(n); }

std::string plural(int64_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string micro_batches(int n) { return std::to_string(n) + (n == 1 ? " micro-batch" : " micro-batches"); }

/// "4 micro-batches of 2 x 1024"; sizes that differ: "3 micro-batches of 2 to 3 x 16".
std::string micro_batch_text(const Plan& plan, const Model& model) {
  std::string text = micro_batches(plan.micro_batches);
  if (plan.rows.empty()) return text;
  text += " of ";
  if (plan.rows.back().count != plan.rows[0].count) text += std::to_string(plan.rows.back().count) + " to ";
  text += std::to_string(plan.rows[0].count);
  for (const int64_t n : model.batch().input_shape) text += " x " + std::to_string(n);
  if (plan.accumulate > 1) text += ", " + std::to_string(plan.accumulate) + " passes a step";
  return text;
}

std::string header(const Plan& plan, const Model& model) {
  return count_text(static_cast<double>(model.weight_count())) + " parameters, " +
         plural(static_cast<int64_t>(model.layers().size()), "layer") + ", " +
         plural(static_cast<int64_t>(plan.stages.size()), "stage") + ", " +
         plural(static_cast<int64_t>(plan.devices.size()), "device") + "; " + plan.policy +
         (plan.policy.empty() ? "" : ", ") + plan.schedule + ", " + micro_batch_text(plan, model) + "\n";
}

constexpr int most_empty_rows = 2;

std::string device_table(const Plan& plan, const Model& model) {
  const bool masters =
      std::any_of(plan.memory.begin(), plan.memory.end(), [](const DeviceMemory& m) { return m.masters > 0; });
  std::vector<std::string> names = {"device", "layers", "weights"};
  if (masters) names.push_back("fp32 copies");
  for (const char* name : {"gradients", "optimizer", "edges", "activations", "peak", "of budget", "idle"})
    names.push_back(name);
  std::vector<Align> columns(names.size(), Align::right);
  columns[0] = columns[1] = Align::left;
  TextTable table(columns, names);
  int empty = 0;
  for (std::size_t d = 0; d < plan.devices.size(); ++d) {
    const DeviceMemory& m = plan.memory[d];
    const PlanDevice& device = plan.devices[d];
    std::vector<std::string> row = {device.name, layers_of_device(plan, model, static_cast<int>(d)), bytes(m.weights)};
    if (row[1].empty() && ++empty > most_empty_rows) continue;
    if (row[1].empty()) row[1] = "-";
    if (masters) row.push_back(bytes(m.masters));
    for (const uint64_t n : {m.gradients, m.states, m.edges, m.activations, m.peak()}) row.push_back(bytes(n));
    row.push_back(device.budget == no_budget ? "-" : bytes(device.budget));
    row.push_back(d < plan.prediction.idle.size() ? percent(plan.prediction.idle[d]) : "-");
    table.add(row);
  }
  const int left_out = empty - most_empty_rows;
  if (left_out <= 0) return table.text();
  return table.text() + std::to_string(left_out) + " more without layers\n";
}

/// Edges on which something travels.
template <class Visit>
void for_travelling(const Plan& plan, const Visit& visit) {
  for (const Edge& e : plan.edges)
    if (e.capacity > 0) visit(e, plan.links.between(plan.stages[e.from].device, plan.stages[e.to].device));
}

/// How tensors get from one device to another.
std::string path_text(const Plan& plan) {
  const std::pair<const char*, std::string> names[] = {
      {"memory", "copied in memory"},
      {"peer",
       plan.machine.empty() ? "peer to peer where the driver allows it, else through the host" : "peer to peer"},
      {"host", "through pinned host memory"},
      {"network", "over the network"}};
  std::string text;
  for (const auto& [path, name] : names) {
    int n = 0;
    for_travelling(plan, [&](const Edge&, const Link& link) { n += path == std::string(link.path); });
    if (n > 0) text += (text.empty() ? "" : "; ") + name;
  }
  return text;
}

std::string edges_text(const Plan& plan) {
  const int forward = hand_overs(plan, false), back = hand_overs(plan, true);
  if (forward + back == 0) return "edges   none: nothing travels between devices\n";
  uint64_t least = UINT64_MAX, most = 0;
  for (const Edge& e : plan.edges)
    if (e.capacity > 0) least = std::min(least, e.bytes), most = std::max(most, e.bytes);
  return "edges   " + std::to_string(forward) + " forward, " + std::to_string(back) + " back for each micro-batch, " +
         (least == most ? "" : bytes(least) + " to ") + bytes(most) + " each, " + path_text(plan) + "\n";
}

/// (s-1)/(m+s-1) is exact for equal stages with a device each, under gpipe and 1f1b.
std::string bubble_text(const Plan& plan) {
  const auto s = static_cast<double>(plan.stages.size()), m = static_cast<double>(plan.micro_batches);
  for (std::size_t d = 0; d < plan.devices.size(); ++d)
    if (returns_to(plan, static_cast<int>(d)) > 0) return "";
  if (plan.stages.size() < 2 || (plan.schedule != "gpipe" && plan.schedule != "1f1b")) return "";
  return "bubble  " + percent((s - 1) / (m + s - 1)) + " of equal stages: (s-1)/(m+s-1) with " +
         std::to_string(plan.stages.size()) + " stages and " + micro_batches(plan.micro_batches) + "\n";
}

std::string rate_text(double per_second, const char* unit) { return count_text(per_second) + unit; }

/// "66.9 to 435 TFLOP/s": of the devices with layers that `basis` speaks of; empty: there is none.
std::string speeds_text(const Plan& plan, Basis basis) {
  double least = 0, most = 0;
  for (const Stage& s : plan.stages) {
    const PlanDevice& d = plan.devices[s.device];
    if (d.basis != basis) continue;
    least = least > 0 ? std::min(least, d.flops) : d.flops;
    most = std::max(most, d.flops);
  }
  if (most <= 0) return "";
  return (least < most ? count_text(least) + " to " : "") + rate_text(most, "FLOP/s a device");
}

/// "peer 374 GB/s, network 50 GB/s": the slowest described links that something travels on.
std::string rates_text(const Plan& plan) {
  std::string text;
  for (const char* path : {"memory", "peer", "host", "network"}) {
    double slowest = 0;
    for_travelling(plan, [&](const Edge&, const Link& link) {
      if (link.basis != Basis::described || path != std::string(link.path)) return;
      slowest = slowest > 0 ? std::min(slowest, link.bytes_per_s) : link.bytes_per_s;
    });
    if (slowest > 0) text += (text.empty() ? "" : ", ") + std::string(path) + " " + rate_text(slowest, "B/s");
  }
  return text;
}

/// What the times rest on: what is measured or described first, then what is assumed.
std::string basis_text(const Plan& plan) {
  bool device_assumed = false, device_measured = true, link_assumed = false, travels = false;
  for (const Stage& s : plan.stages) {
    device_assumed = device_assumed || plan.devices[s.device].basis == Basis::assumed;
    device_measured = device_measured && plan.devices[s.device].basis == Basis::measured;
  }
  for_travelling(plan, [&](const Edge&, const Link& link) {
    travels = true;
    link_assumed = link_assumed || link.basis == Basis::assumed;
  });
  std::string text = device_measured ? " from measured costs" : "";
  if (const std::string speeds = speeds_text(plan, Basis::described); !speeds.empty()) {
    const std::string rates = rates_text(plan);
    text += ", at " + speeds + (rates.empty() ? "" : "; " + rates);
  }
  if (!travels) link_assumed = device_assumed;
  if (device_assumed || link_assumed) text += ", assuming ";
  if (device_assumed) text += "50 GFLOP/s for each device";
  if (link_assumed) text += std::string(device_assumed ? " and " : "") + "10 GB/s between them";
  return text;
}

std::string machine_text(const Plan& plan) {
  if (plan.machine.empty()) return "";
  int hosts = 0;
  for (std::size_t d = 0; d < plan.devices.size(); ++d)
    hosts = std::max(hosts, plan.links.seat(static_cast<int>(d)).host + 1);
  return "machine " + plan.machine + (plan.about.empty() ? "" : ": " + plan.about) + "; " + plural(hosts, "host") +
         ", none of it is here\n";
}

std::string step_text(const Plan& plan) {
  return "step    " + seconds_text(plan.prediction.step_s) + " predicted" + basis_text(plan) + "\n";
}

}  // namespace

std::string plan_text(const Plan& plan, const Model& model) {
  std::string text = header(plan, model) + machine_text(plan) + device_table(plan, model) + edges_text(plan) +
                     step_text(plan) + bubble_text(plan);
  if (!plan.why.empty()) text += "why: " + plan.why + "\n";
  for (const std::string& w : plan.warnings) text += "warning: " + w + "\n";
  for (const std::string& n : plan.notes) text += "note: " + n + "\n";
  return text;
}

}  // namespace switchyard
