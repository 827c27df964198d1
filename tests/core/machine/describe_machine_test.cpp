// Descriptions by name and by file, and what a configuration changes in them.
#include <doctest/doctest.h>

#include <filesystem>

#include "../config/refusal.hpp"
#include "../store/temp_folder.hpp"
#include "machine/description.hpp"

using namespace switchyard;
namespace fs = std::filesystem;

namespace {

MachineChoice named(const std::string& name) {
  MachineChoice choice;
  choice.name = {name, {"c.toml", 3, 11}};
  choice.place = choice.name.place;
  return choice;
}

/// A file that is gone with the test.
struct MachineFile {
  test::TempFolder folder;
  fs::path path = folder / "m.toml";
  explicit MachineFile(const std::string& text) { test::write_file(path, text); }
  MachineChoice choice() const {
    MachineChoice c;
    c.file = {path.string(), {"c.toml", 4, 1}};
    c.place = c.file.place;
    return c;
  }
};

std::string refused(const MachineChoice& choice) {
  return refusal([&] { describe_machine(choice); });
}

}  // namespace

TEST_CASE("every machine that comes with the program can be read, and says what it needs") {
  CHECK(ready_machines() == std::vector<std::string>{"a100-80gb", "h100-sxm", "h200", "rtx-4090"});
  for (const std::string& name : ready_machines()) {
    CAPTURE(name);
    const MachineDescription m = describe_machine(named(name));
    CHECK(m.name == name);
    CHECK(m.about != "");
    CHECK(m.hosts == 1);
    CHECK(m.devices_of_host() >= 2);
    CHECK(m.devices[0].flops.bf16 >= m.devices[0].flops.fp32);
    CHECK(m.devices[0].bytes_per_s > 1e11);
    CHECK(m.devices[0].memory > (20ull << 30));
    CHECK(m.within.bytes_per_s.at(0, 1) >= m.between.bytes_per_s.at(0, 1));
  }
}

TEST_CASE("an unknown name: all that are known") {
  CHECK_HOLDS(refused(named("h100")),
              "c.toml:3:11: devices.machine: no machine is called \"h100\"; known: a100-80gb, "
              "h100-sxm, h200, rtx-4090; the path of a file of your own ends in .toml");
}

TEST_CASE("a file: what cannot be read, what is wrong in it") {
  MachineChoice missing = named("");
  missing.file = {"/nowhere/m.toml", missing.place};
  CHECK_HOLDS(refused(missing), "c.toml:3:11: devices.machine: '/nowhere/m.toml' cannot be read: No such file");
  missing.file.text = fs::temp_directory_path().string();
  CHECK_HOLDS(refused(missing), "it is a folder");
  const MachineFile wrong("hosts = 0\n");
  CHECK_HOLDS(refused(wrong.choice()), wrong.path.string() + ":1:9: hosts");
}

TEST_CASE("hosts and devices are changed by the configuration") {
  MachineChoice choice = named("h100-sxm");
  choice.hosts = 512;
  choice.devices = 4;
  const MachineDescription m = describe_machine(choice);
  CHECK(m.hosts == 512);
  CHECK(m.devices_of_host() == 4);
  choice.hosts = 100000, choice.devices = 4096;
  CHECK_HOLDS(refused(choice), "100000 hosts of 4096 devices are more than 1000000 devices");
}

TEST_CASE("devices of several kinds have no one number; matrices serve fewer, not more") {
  const std::string gpu = "[[device]]\ntype = 'cuda'\ncount = 2\nmemory = 1\nflops = { fp32 = 1 }\n";
  const MachineFile two_kinds(gpu + "[[device]]\ntype = 'cpu'\nmemory = 1\nflops = { fp32 = 1 }\n");
  MachineChoice choice = two_kinds.choice();
  choice.devices = 2;
  CHECK_HOLDS(refused(choice), "devices.machine.devices: the hosts of m.toml have devices of 2 kinds");

  const MachineFile matrix(gpu + "[links.host]\nbandwidth = [[0, 1], [2, 0]]\n");
  choice = matrix.choice();
  choice.devices = 1;
  CHECK(describe_machine(choice).devices_of_host() == 1);
  choice.devices = 3;
  CHECK_HOLDS(refused(choice), "3 devices of a host are wanted, links.host.bandwidth is a matrix for 2");
}
