// Every key of every table of the core: wrong types, ranges, defaults, unknown neighbours.
#include "config/tables.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "config/toml.hpp"
#include "refusal.hpp"

using namespace switchyard;

namespace {

const char* complete =
    "[model]\ninput = { shape = [3] }\nweights = { file = 'w' }\n[[layer]]\ntype = 'linear'\nname = 'a'\n"
    "[train]\n[data]\ntable = 't.csv'\ntarget = 'y'\n[schedule.file]\npath = 's.json'\n"
    "[devices.machine]\nname = 'm'\n";

std::string path_of(const TableSpec& table, const OptionSpec& option) {
  if (table.name.empty()) return option.key;
  return (table.name == "layer" ? "layer.0" : table.name) + "." + option.key;
}

/// The refusal of the base with one key set; "" when it is accepted.
std::string setting(const std::string& key, const std::string& value) {
  return refusal_of(complete, {key + "=" + value});
}

void for_each_option(const std::function<void(const TableSpec&, const OptionSpec&, const std::string&)>& action) {
  for (const TableSpec& table : core_tables())
    for (const OptionSpec& option : table.options) action(table, option, path_of(table, option));
}

struct Sample {
  const char* text;
  const char* found;
};
constexpr Sample samples[] = {{"true", "a boolean (true)"},         {"7", "an integer (7)"}, {"0.25", "a float (0.25)"},
                              {"\"zzz\"", "a string (\"zzz\")"},    {"[[]]", "an array"},    {"{ zzz = 1 }", "a table"},
                              {"2020-01-01", "a date (2020-01-01)"}};

/// Whether a value of the sample's kind may be written for the option, whatever its range.
bool kind_fits(const OptionSpec& option, const std::string& sample) {
  char first = sample[0];
  switch (option.type) {
    case SY_T_BOOL:
      return sample == "true";
    case SY_T_I64:
      return sample == "7";
    case SY_T_F64:
      return sample == "7" || sample == "0.25";
    case SY_T_STR:
    case SY_T_STRS:
      return first == '"' && option.choices.empty();
    case T_TABLE:
      return first == '{';
    default:
      return false;
  }
}

bool is_number(const OptionSpec& option) { return option.type == SY_T_I64 || option.type == SY_T_F64; }

}  // namespace

TEST_CASE("the base of these tests is accepted") { CHECK(refusal_of(complete) == ""); }

TEST_CASE("every key refuses values of another type, saying what was wanted and what was found") {
  for_each_option([](const TableSpec&, const OptionSpec& option, const std::string& path) {
    if (option.type == T_ANY) return;
    for (const Sample& sample : samples) {
      if (kind_fits(option, sample.text)) continue;
      std::string text = setting(path, sample.text);
      CHECK_HOLDS(text, "--set " + path + "=");
      CHECK_HOLDS(text, option.key + ": wanted " + wanted_text(option) + ", found ");
      if (option.type != SY_T_STRS && option.type != SY_T_I64S) CHECK_HOLDS(text, sample.found);
    }
  });
}

TEST_CASE("keys of several types refuse every other one") {
  struct Case {
    const char* key;
    std::vector<const char*> wrong;
  };
  const Case cases[] = {
      {"model.weights.allow_unused", {"1", "0.5", "[1]", "{ a = 1 }", "2020-01-01"}},
      {"devices.use",
       {"true", "1", "1.5", "[1]", "[]", "{ a = 1 }", "gpu", "cuda", "[\"auto\"]", "\"cuda:-1\"", "\"cuda:01\"", "\"cuda:0/\"", "\"cuda:0/00\"", "\"cuda:/0\""}},
      {"devices.memory", {"true", "1.5", "[]", "[true]", "{ a = 1 }", "22", "22G", "0", "-1", "0GiB"}},
      {"train.recompute", {"1", "1.5", "[1]", "{ a = 1 }", "\"h.{\""}},
      {"data.validation", {"true", "[0.1]", "{ a = 1 }", "1", "1.0", "-0.1", "nan", "inf", "\"\""}},
      {"schedule.file", {"true", "1", "1.5", "[1]", "{ a = 1 }", "\"\""}},
      {"layer.0.layer", {"true", "1", "1.5", "x", "[1]", "{ a = 1 }"}},
  };
  for (const Case& each : cases)
    for (const char* value : each.wrong)
      if (std::string(value) != "22")
        CHECK_MESSAGE(setting(each.key, value) != "", each.key, " = ", value);
      else
        CHECK_MESSAGE(setting(each.key, "\"22\"") != "", each.key);
}

TEST_CASE("every number refuses nan, infinities, 2^63 and what is outside its range") {
  for_each_option([](const TableSpec&, const OptionSpec& option, const std::string& path) {
    if (!is_number(option)) return;
    for (const char* value : {"nan", "inf", "-inf", "9223372036854775808", "-9223372036854775809", "1e400"})
      CHECK_MESSAGE(setting(path, value) != "", path, " = ", value);
    if (option.type == SY_T_I64) CHECK_HOLDS(setting(path, "4.0"), "found a float (4.0)");
    auto text = [&](double x) {
      return option.type == SY_T_I64 ? std::to_string(static_cast<long long>(x)) : write_toml_value(Value(x));
    };
    CHECK_MESSAGE(setting(path, text(option.min - 1)) != "", path);
    if (option.max < 9e18) CHECK_MESSAGE(setting(path, text(option.max + 1)) != "", path);
  });
}

TEST_CASE("every number accepts the ends of its range") {
  for_each_option([](const TableSpec&, const OptionSpec& option, const std::string& path) {
    if (!is_number(option) || path == "train.accumulate" || path == "schedule.micro_batches") return;
    auto text = [&](double x) {
      return option.type == SY_T_I64 ? std::to_string(static_cast<long long>(x)) : write_toml_value(Value(x));
    };
    CHECK_MESSAGE(setting(path, text(option.min)) == "", path, ": ", setting(path, text(option.min)));
    if (option.max < 9e18)
      CHECK_MESSAGE(setting(path, text(option.max)) == "", path, ": ", setting(path, text(option.max)));
  });
  CHECK(refusal_of(complete, {"train.batch=2147483647", "train.accumulate=2147483647"}) == "");
  CHECK(refusal_of(complete, {"train.batch=2147483647", "schedule.micro_batches=2147483647"}) == "");
}

TEST_CASE("an integer is accepted for every float") {
  for_each_option([](const TableSpec&, const OptionSpec& option, const std::string& path) {
    if (option.type == SY_T_F64) CHECK_MESSAGE(setting(path, "1") == "", path, ": ", setting(path, "1"));
  });
}

TEST_CASE("every choice is accepted, every other word refused with all of them") {
  for_each_option([](const TableSpec&, const OptionSpec& option, const std::string& path) {
    for (const std::string& word : option.choices) CHECK_MESSAGE(setting(path, word) == "", path, " = ", word);
    if (option.choices.empty()) return;
    std::string text = setting(path, option.choices[0] + "q");
    for (const std::string& word : option.choices) CHECK_HOLDS(text, "\"" + word + "\"");
    CHECK_HOLDS(text, "did you mean \"");
  });
}

TEST_CASE("every key misspelt is refused with the right one") {
  for_each_option([](const TableSpec& table, const OptionSpec& option, const std::string& path) {
    if (table.name == "layer") return;  // further keys belong to the layer's type
    if (table.name == "train.optimizer") return;
    std::string text = setting(path + "q", "1");
    if (table.name.empty())
      CHECK_HOLDS(text, "seedq: unknown key; did you mean 'seed'?");
    else
      CHECK_HOLDS(text, "unknown key; did you mean '" + option.key + "'?");
  });
}

TEST_CASE("every default fits its option") {
  for (const TableSpec& table : core_tables()) {
    ErrorList errors;
    Value empty;
    CHECK_MESSAGE(refusal([&] { check_options(empty, table.options, errors, ""); }) == "", table.name);
  }
}

TEST_CASE("every option says what it is") {
  for_each_option([](const TableSpec& table, const OptionSpec& option, const std::string& path) {
    CHECK_MESSAGE(option.help != "", path);
    CHECK_MESSAGE(table.help != "", path);
    CHECK_MESSAGE((option.type == T_ANY) == (option.wanted != ""), path);
  });
}

TEST_CASE("tables that are something else are refused") {
  for (const char* name : {"plugins", "model", "devices", "placement", "schedule", "precision", "train", "data",
                           "checkpoint", "generate"}) {
    std::string text = refusal_of(std::string(name) + " = 3\n[[layer]]\ntype='x'\n");
    CHECK_HOLDS(text, std::string("t.toml:1:"));
    CHECK_HOLDS(text, std::string(name) + ": wanted a table [" + name + "], found an integer");
    text = refusal_of(std::string("[[layer]]\ntype='x'\n[[") + name + "]]\n");
    CHECK_HOLDS(text, "found an array");
  }
}
