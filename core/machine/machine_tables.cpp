#include <limits>

#include "machine/description.hpp"

namespace switchyard {
namespace {

constexpr double above_zero = std::numeric_limits<double>::min();
constexpr double unlimited = std::numeric_limits<double>::max();

OptionSpec text(const char* key, const char* help) { return {key, SY_T_STR, "\"\"", 1, 0, {}, "", help, ""}; }
OptionSpec integer(const char* key, double max, const char* help) {
  return {key, SY_T_I64, "1", 1, max, {}, "", help, ""};
}
OptionSpec positive(const char* key, std::optional<std::string> fallback, const char* unit, const char* help) {
  return {key, SY_T_F64, std::move(fallback), above_zero, unlimited, {}, unit, help, ""};
}
OptionSpec any(const char* key, std::optional<std::string> fallback, const char* wanted, const char* help) {
  return {key, T_ANY, std::move(fallback), 1, 0, {}, "", help, wanted};
}
OptionSpec table(const char* key, std::optional<std::string> fallback, const char* help) {
  return {key, T_TABLE, std::move(fallback), 1, 0, {}, "", help, ""};
}

constexpr const char* figures = "a number, or a matrix with a row for each sender";

std::vector<TableSpec> all_tables() {
  return {
      {"",
       "The machine",
       {text("about", "what it is, in one line"), integer("hosts", 100000, "how many equal hosts it has"),
        any("device", std::nullopt, "[[device]] entries", "the devices of each host, in order"),
        table("links", "", "how tensors get from device to device")}},
      {"device",
       "Equal devices of each host",
       {{"type", SY_T_STR, std::nullopt, 1, 0, {"cuda", "cpu"}, "", "the word before the colon in their names", ""},
        integer("count", 4096, "how many each host has"),
        text("maker_name", "what the maker calls one"),
        any("memory", std::nullopt, "a size such as \"80GiB\"", "of each"),
        positive("bandwidth", "", "bytes/s", "of its own memory, reading or writing"),
        table("flops", std::nullopt, "operations per second by number type"),
        {"efficiency", SY_T_F64, "1.0", above_zero, 1, {}, "", "the share of flops that layers reach", ""}}},
      {"device.flops",
       "Floating point operations per second",
       {positive("fp32", std::nullopt, "1/s", "without TF32"), positive("tf32", "", "1/s", "with precision.tf32"),
        positive("bf16", "", "1/s", "dense"), positive("fp16", "", "1/s", "dense")}},
      {"links", "Between devices", {table("host", std::nullopt, "of one host"), table("network", "", "of two hosts")}},
      {"links.host",
       "Between two devices of one host",
       {{"peer", SY_T_BOOL, "false", 1, 0, {}, "", "whether GPUs reach each other without the host's memory", ""},
        any("bandwidth", std::nullopt, figures, "bytes per second each way"),
        any("latency", "1e-5", figures, "seconds before the first byte")}},
      {"links.network",
       "Between two hosts",
       {any("bandwidth", std::nullopt, figures, "bytes per second each way"),
        any("latency", "1e-5", figures, "seconds before the first byte")}},
  };
}

}  // namespace

const std::vector<TableSpec>& machine_tables() {
  static const std::vector<TableSpec> tables = all_tables();
  return tables;
}

}  // namespace switchyard
