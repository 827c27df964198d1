// Machine files: what they say, and one error for each mistake.
#include <doctest/doctest.h>

#include "../config/refusal.hpp"
#include "machine/description.hpp"

using namespace switchyard;

namespace {

const std::string device = "[[device]]\ntype = 'cuda'\ncount = 2\nmemory = '10GiB'\nflops = { fp32 = 1e12 }\n";

std::string refused(const std::string& text) {
  return refusal([&] { parse_machine(text, "m.toml"); });
}

}  // namespace

TEST_CASE("everything that a file can say") {
  const MachineDescription m = parse_machine(
      "about = 'x'\nhosts = 3\n[[device]]\ntype = 'cuda'\ncount = 2\nmaker_name = 'y'\nmemory = '10GB'\nbandwidth = "
      "1e12\n"
      "flops = { fp32 = 1e12, tf32 = 2e12, bf16 = 3e12, fp16 = 4e12 }\nefficiency = 0.5\n"
      "[[device]]\ntype = 'cpu'\nmemory = 1000\nflops = { fp32 = 5e9 }\n"
      "[links.host]\npeer = true\nbandwidth = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]\nlatency = 1e-6\n"
      "[links.network]\nbandwidth = 10\n",
      "m.toml");
  CHECK(m.about == "x");
  CHECK(m.hosts == 3);
  CHECK(m.devices_of_host() == 3);
  CHECK(m.devices[0].type == SY_DEVICE_CUDA);
  CHECK(m.devices[0].maker_name == "y");
  CHECK(m.devices[0].memory == 10000000000);
  CHECK(m.devices[0].bytes_per_s == 1e12);
  CHECK(m.devices[0].efficiency == 0.5);
  CHECK(m.devices[0].flops.tf32 == 2e12);
  CHECK(m.devices[0].flops.fp16 == 4e12);
  CHECK(m.devices[1].type == SY_DEVICE_CPU);
  CHECK(m.devices[1].flops.bf16 == 5e9);  // not described: as fp32
  CHECK(m.peer);
  CHECK(m.within.bytes_per_s.at(2, 1) == 6);
  CHECK(m.within.latency_s.at(2, 1) == 1e-6);
  CHECK(m.between.bytes_per_s.at(0, 2) == 10);
  CHECK(m.between.latency_s.at(0, 2) == 1e-5);
}

TEST_CASE("links may be left out, wholly or between hosts") {
  CHECK_FALSE(parse_machine(device, "m.toml").within.bytes_per_s.known());
  CHECK_FALSE(parse_machine(device + "[links.host]\nbandwidth = 1\n", "m.toml").between.bytes_per_s.known());
}

TEST_CASE("mistakes have a place, a key and a remedy") {
  CHECK_HOLDS(refused("hosts = 1\n"), "device is missing");
  CHECK_HOLDS(refused("device = 3\n"), "m.toml:1:10: device: wanted [[device]] entries, found an integer");
  CHECK_HOLDS(refused(device + "cuont = 1\n"), "m.toml:6:1: device.cuont: unknown key; did you mean 'count'?");
  CHECK_HOLDS(refused("[[device]]\ntype = 'tpu'\nmemory = 1\nflops = { fp32 = 1 }\n"), "m.toml:2:8: device.type");
  CHECK_HOLDS(refused("[[device]]\ntype = 'cuda'\nmemory = '1XB'\nflops = { fp32 = 1 }\n"),
              "m.toml:3:10: device.memory");
  CHECK_HOLDS(refused("[[device]]\ntype = 'cuda'\nmemory = 1\nflops = { bf16 = 1 }\n"), "device.flops.fp32 is missing");
  CHECK_HOLDS(refused("[[device]]\ntype = 'cuda'\nmemory = 1\nflops = { fp32 = 0 }\n"),
              "m.toml:4:18: device.flops.fp32");
  CHECK_HOLDS(refused(device + "efficiency = 1.5\n"), "device.efficiency");
  CHECK_HOLDS(refused(device + "[links]\nrack = {}\n"), "m.toml:7:1: links.rack: unknown key");
  CHECK_HOLDS(refused(device + "[links.host]\nlatency = 1\n"), "links.host.bandwidth is missing");
}

TEST_CASE("figures of links: positive numbers, square matrices") {
  const auto link = [](const std::string& line) { return refused(device + "[links.host]\n" + line + "\n"); };
  CHECK_HOLDS(link("bandwidth = 0"), "m.toml:7:13: links.host.bandwidth: wanted a number above 0");
  CHECK_HOLDS(link("bandwidth = '1GB'"), "links.host.bandwidth: wanted a number above 0, or 2 rows of 2 numbers");
  CHECK_HOLDS(link("bandwidth = 1\nlatency = -1"), "m.toml:8:11: links.host.latency: wanted a number of 0 or more");
  CHECK_HOLDS(link("bandwidth = [[0, 1]]"),
              "wanted 2 rows of 2 numbers, one for each of the 2 devices of a host; found 1 rows");
  CHECK_HOLDS(link("bandwidth = [[0, 1], [1]]"), "m.toml:7:22: links.host.bandwidth: wanted 2 rows");
  CHECK_HOLDS(link("bandwidth = [[0, -1], [1, 0]]"), "m.toml:7:18: links.host.bandwidth: wanted a number above 0");
  CHECK(link("bandwidth = [[0, 1], [1, 0]]") == "");
  CHECK_HOLDS(refused(device + "[links.host]\nbandwidth = 1\n[links.network]\nbandwidth = [[0, 1], [1, 0]]\n"),
              "wanted 1 rows of 1 numbers, one for each of the 1 hosts");
}
