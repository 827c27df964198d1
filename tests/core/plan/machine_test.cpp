// Plans for machines that are described, not here: every figure of a description changes the plan, and the plan says
// what it knows.
#include <doctest/doctest.h>

#include <filesystem>

#include "../store/temp_folder.hpp"
#include "planning.hpp"
#include "switchyard/cpp/plugin.hpp"

using namespace planning;
namespace fs = std::filesystem;

namespace {

/// A machine file that is gone with the test.
struct MachineFile {
  switchyard::test::TempFolder folder;
  fs::path path = folder / "m.toml";
  explicit MachineFile(const std::string& text) { switchyard::test::write_file(path, text); }
};

std::string device(const std::string& more = "", const std::string& count = "2") {
  return "[[device]]\ntype = 'cuda'\ncount = " + count +
         "\nmemory = '1GiB'\nflops = { fp32 = 1e9, tf32 = 2e9, bf16 = 4e9, fp16 = 8e9 }\n" + more;
}
const std::string links = "[links.host]\npeer = true\nbandwidth = 1e6\nlatency = 0\n[links.network]\nbandwidth = 1e3\n";

Planned on_machine(const std::string& machine, const std::vector<std::string>& sets = {}, int layers = 4) {
  const MachineFile file(machine);
  std::vector<std::string> all = {"placement.policy=contiguous", "schedule.micro_batches=2",
                                  "devices.machine=\"" + file.path.string() + "\""};
  all.insert(all.end(), sets.begin(), sets.end());
  return make(deep(layers) + training, all);
}

double step(const std::string& machine, const std::vector<std::string>& sets = {}) {
  return on_machine(machine, sets).plan.prediction.step_s;
}

/// Seconds of the first forward edge between devices.
double first_edge(const Plan& plan) {
  for (const Edge& e : plan.edges)
    if (e.capacity > 0) return e.seconds;
  return 0;
}

/// Says what it is told about device 0, its link to the last device, and layer 0 on both.
struct Asks {
  static constexpr const char* id = "p_asks";
  static constexpr const char* help = "asks about links and times";
  explicit Asks(const sy::config&) {}
  void place(const sy_place& in, sy_placed& out) {
    const int32_t last = static_cast<int32_t>(in.n_devices) - 1;
    double rate = 0, latency = 0, forward[2], input, weight;
    std::string why = "node " + std::to_string(in.devices[last]->node);
    if (in.link(in.self, 0, last, &rate, &latency, nullptr) == SY_OK)
      why += ", rate " + std::to_string(rate) + ", latency " + std::to_string(latency);
    in.seconds(in.self, 0, 0, &forward[0], &input, &weight, nullptr);
    in.seconds(in.self, 0, last, &forward[1], &input, &weight, nullptr);
    why += ", ratio " + std::to_string(forward[1] / forward[0]);
    for (const int32_t wrong : {-1, last + 1})
      if (in.link(in.self, 0, wrong, &rate, &latency, nullptr) != SY_E_ARGUMENT ||
          in.seconds(in.self, 0, wrong, &input, &input, &weight, nullptr) != SY_E_ARGUMENT)
        why += ", device " + std::to_string(wrong) + " is answered for";
    if (in.seconds(in.self, in.n_layers, 0, &input, &input, &weight, nullptr) != SY_E_ARGUMENT) why += ", layer too";
    std::fill_n(out.stage_of_layer, in.n_layers, 0);
    out.device_of_stage[0] = 0;
    out.n_stages = 1;
    sy::host()->text_add(out.why, why.c_str());
  }
};

constexpr sy_export asking_exports[] = {sy::export_policy<Asks>()};
constexpr sy_plugin asking_plugin{SY_PLUGIN_MAGIC,
                                  sizeof(sy_plugin),
                                  SY_ABI_MAJOR,
                                  SY_ABI_MINOR,
                                  "test-asking",
                                  "1.0",
                                  asking_exports,
                                  std::size(asking_exports),
                                  0,
                                  sy::attach};

}  // namespace

TEST_CASE("policies are told nodes, links and times, and refused what does not exist") {
  registry().add(&asking_plugin);
  const std::string slow = "[[device]]\ntype = 'cuda'\nmemory = '1GiB'\nflops = { fp32 = 5e8 }\n";
  const Plan plan = on_machine("hosts = 2\n" + device("", "1") + slow + links, {"placement.policy=p_asks"}).plan;
  CHECK(plan.why == "node 1, rate 1000.000000, latency 0.000010, ratio 2.000000");
}

TEST_CASE("a ready machine, and several of its hosts, by one key") {
  const Planned p = make(deep(29) + training, {"placement.policy=contiguous", "schedule.micro_batches=4",
                                               "devices.machine={ name = \"h100-sxm\", hosts = 2 }"});
  REQUIRE(p.plan.devices.size() == 16);
  CHECK(p.plan.devices[8].name == "cuda:8");
  CHECK(p.plan.links.seat(7).host == 0);
  CHECK(p.plan.links.seat(8).host == 1);
  CHECK(p.plan.devices[0].maker_name == "NVIDIA H100 80GB HBM3");
  CHECK(p.plan.devices[0].budget == (uint64_t(81559) << 20) - (uint64_t(81559) << 20) / 20);
  const std::string text = plan_text(p.plan, *p.model);
  CHECK(contains(text, "machine h100-sxm: H100 SXM5 80 GB, eight to a host"));
  CHECK(contains(text, "; 2 hosts, none of it is here"));
  CHECK(contains(text, "peer to peer; over the network"));
  CHECK(contains(text, "predicted, at 29.4 TFLOP/s a device; peer 374 GB/s, network 50.0 GB/s\n"));
  CHECK_FALSE(contains(text, "assuming"));
  const std::string json = plan_json(p.plan, *p.model);
  CHECK(contains(json, "\"machine\": {\"name\":\"h100-sxm\""));
  CHECK(contains(json, "\"node\":1"));
  CHECK(contains(json, "\"path\":\"network\""));
  CHECK(contains(json, "\"basis\":\"described\""));
}

TEST_CASE("devices.use takes some of a machine's devices, devices.memory other budgets") {
  const Plan plan =
      on_machine(device() + links, {"devices.use=[\"cuda:1\", \"cuda:0\"]", "devices.memory=[\"1MiB\", \"auto\"]"})
          .plan;
  REQUIRE(plan.devices.size() == 2);
  CHECK(plan.devices[0].name == "cuda:1");
  CHECK(plan.devices[0].budget == 1 << 20);
  CHECK(plan.devices[1].budget == (1 << 30) - (1 << 30) / 20);
  const MachineFile file(device() + links);
  const std::vector<std::string> set = {"devices.machine=\"" + file.path.string() + "\"", "devices.use=[\"cuda:2\"]"};
  CHECK(contains(refusal(deep(2) + training, set),
                 "devices.use: \"cuda:2\" is not in m.toml, which has cuda:0 to cuda:1"));
}

TEST_CASE("devices of two types are counted for themselves, through the hosts") {
  const std::string cpu = "[[device]]\ntype = 'cpu'\nmemory = '1GiB'\nflops = { fp32 = 1e9 }\n";
  const Plan plan = on_machine("hosts = 2\n" + device() + cpu + links, {}, 8).plan;
  std::string names;
  for (const PlanDevice& d : plan.devices) names += d.name + " ";
  CHECK(names == "cuda:0 cuda:1 cpu:0 cuda:2 cuda:3 cpu:1 ");
  CHECK(plan.links.seat(5).host == 1);
  CHECK(plan.links.seat(5).slot == 2);
  CHECK(std::string(plan.links.between(0, 2).path) == "host");
}

TEST_CASE("flops of the run's type, efficiency, memory bandwidth and links change the times") {
  const double fp32 = on_machine(device() + links).plan.times[0].forward;
  CHECK(on_machine(device("efficiency = 0.5\n") + links).plan.times[0].forward == doctest::Approx(2 * fp32));
  CHECK(on_machine(device() + links, {"precision.tf32=true"}).plan.times[0].forward == doctest::Approx(fp32 / 2));
  CHECK(on_machine(device() + links, {"precision.type=bf16"}).plan.times[0].forward == doctest::Approx(fp32 / 4));
  CHECK(on_machine(device() + links, {"precision.type=fp16"}).plan.times[0].forward == doctest::Approx(fp32 / 8));
  const Plan kept = on_machine(device() + links, {"precision.type=bf16", "precision.keep_fp32=[\"*\"]"}).plan;
  CHECK(kept.times[0].forward == doctest::Approx(fp32));
  CHECK(on_machine(device("bandwidth = 1e3\n") + links).plan.times[0].forward > 10 * fp32);
  CHECK(step(device() + links) < step(device() + "[links.host]\nbandwidth = 1e5\n"));
  const std::string slow = "[links.host]\nbandwidth = 1e6\nlatency = 1\n";
  CHECK(first_edge(on_machine(device() + slow).plan) - first_edge(on_machine(device() + links).plan) ==
        doctest::Approx(1));
}

TEST_CASE("edges take the class, or the entry of the matrix, that their devices have") {
  const Plan two_hosts = on_machine("hosts = 2\n" + device("", "1") + links).plan;
  CHECK(first_edge(two_hosts) == doctest::Approx(1e-5 + 8 * 16 * 4 / 1e3));
  const Plan matrix = on_machine(device() + "[links.host]\nbandwidth = [[0, 2e6], [4e6, 0]]\nlatency = 0\n").plan;
  for (const Edge& e : matrix.edges)
    if (e.capacity > 0) CHECK(e.seconds == doctest::Approx(8 * 16 * 4 / (e.backward ? 4e6 : 2e6)));
}

TEST_CASE("without links they are assumed, and the plan says so") {
  const Planned p = on_machine(device());
  CHECK(contains(plan_text(p.plan, *p.model), "predicted, at 1.00 GFLOP/s a device, assuming 10 GB/s between them\n"));
  CHECK(p.plan.basis() == Basis::assumed);
}

TEST_CASE("an edge that takes longer than the stage it feeds is named with its path and the merge that removes it") {
  const auto warnings = [](const std::string& machine) {
    std::string all;
    for (const std::string& w : on_machine(machine, {}, 2).plan.warnings) all += w + "\n";
    return all;
  };
  const std::string slow = warnings(device() + "[links.host]\npeer = true\nbandwidth = 1e6\nlatency = 0\n");
  CHECK(contains(slow, "the edge from stage 0 to stage 1 (peer) takes 512 us, longer than stage 1 computes ("));
  CHECK(contains(slow, "with loss on cuda:0 it is gone"));
  CHECK_FALSE(contains(warnings(device() + "[links.host]\nbandwidth = 1e12\nlatency = 0\n"), "the edge"));
  CHECK_FALSE(contains(warnings(device()), "the edge"));  // assumed links are no reason to warn
}

TEST_CASE("512 hosts take no more memory for their links than for their devices") {
  const Plan plan = make(deep(15) + training, {"placement.policy=contiguous", "placement.contiguous.counts=[8, 8]",
                                               "devices.machine={ name = \"h100-sxm\", hosts = 512 }"})
                        .plan;
  CHECK(plan.devices.size() == 4096);
  CHECK(std::string(plan.links.between(0, 4095).path) == "network");
}
