// Options across the border: what a plugin publishes and how it reads them back.
#include "plugin/options.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "config/toml.hpp"
#include "plugin/host.hpp"

using namespace switchyard;

namespace {

const sy_host& host = *host_table();
const char* const words[] = {"relu", "gelu", nullptr};

sy_option option(uint32_t type, const char* key, const char* fallback) {
  return {sizeof(sy_option), type, key, fallback, 1, 0, nullptr, nullptr, "help"};
}

struct Published {
  sy_option list[7] = {option(SY_T_BOOL, "bias", "true"),    option(SY_T_I64, "width", nullptr),
                       option(SY_T_F64, "eps", "1e-5"),      option(SY_T_STR, "act", "\"relu\""),
                       option(SY_T_I64S, "shape", "[1, 2]"), option(SY_T_F64S, "betas", "[0.9, 0.99]"),
                       option(SY_T_STRS, "names", "[]")};
  const sy_option* at[7];
  Published() {
    list[3].choices = words;
    for (int i = 0; i < 7; ++i) at[i] = &list[i];
  }
};

sy_config checked(const Published& p, const std::string& toml) {
  ErrorList errors;
  sy_config c{check_options(parse_toml(toml, "test.toml"), options_of(p.at, 7), errors, "")};
  errors.raise();
  return c;
}

}  // namespace

TEST_CASE("a plugin reads the user's values and the defaults") {
  const sy_config c = checked({}, "width = 8\nnames = [\"a\", \"b\"]\nact = \"gelu\"");
  int32_t flag = 0;
  int64_t whole = 0;
  double real = 0;
  const char* text = nullptr;
  uint32_t count = 0;
  CHECK(host.cfg_bool(&c, "bias", &flag, nullptr) == SY_OK);
  CHECK(flag == 1);
  CHECK(host.cfg_i64(&c, "width", &whole, nullptr) == SY_OK);
  CHECK(whole == 8);
  CHECK(host.cfg_f64(&c, "eps", &real, nullptr) == SY_OK);
  CHECK(real == 1e-5);
  CHECK(host.cfg_str(&c, "act", &text, nullptr) == SY_OK);
  CHECK(std::strcmp(text, "gelu") == 0);
  CHECK(host.cfg_count(&c, "names", &count, nullptr) == SY_OK);
  CHECK(count == 2);
  CHECK(host.cfg_str_at(&c, "names", 1, &text, nullptr) == SY_OK);
  CHECK(std::strcmp(text, "b") == 0);
  CHECK(host.cfg_i64_at(&c, "shape", 1, &whole, nullptr) == SY_OK);
  CHECK(whole == 2);
  CHECK(host.cfg_f64_at(&c, "betas", 1, &real, nullptr) == SY_OK);
  CHECK(real == 0.99);
  CHECK(host.cfg_given(&c, "width") == 1);
  CHECK(host.cfg_given(&c, "bias") == 0);
  CHECK(host.cfg_given(&c, "unheard") == 0);
}

TEST_CASE("what goes wrong has a code, and leaves the output alone") {
  const sy_config c = checked({}, "width = 8");
  int64_t whole = 77;
  CHECK(host.cfg_i64(&c, "widht", &whole, nullptr) == SY_E_NOT_FOUND);
  CHECK(host.cfg_i64(&c, "act", &whole, nullptr) == SY_E_ARGUMENT);
  CHECK(host.cfg_i64_at(&c, "shape", 2, &whole, nullptr) == SY_E_RANGE);
  CHECK(host.cfg_i64(nullptr, "width", &whole, nullptr) == SY_E_ARGUMENT);
  CHECK(host.cfg_i64(&c, nullptr, &whole, nullptr) == SY_E_ARGUMENT);
  CHECK(host.cfg_i64(&c, "width", nullptr, nullptr) == SY_E_ARGUMENT);
  CHECK(whole == 77);
}

TEST_CASE("the user's table is checked before a plugin sees it") {
  CHECK_THROWS_AS(checked({}, "widht = 8"), Error);
  CHECK_THROWS_AS(checked({}, "width = 8\nact = \"tanh\""), Error);
}

TEST_CASE("a list of options that cannot be is the plugin's mistake") {
  Published p;
  CHECK_THROWS_AS(options_of(nullptr, 1), Error);
  CHECK(options_of(nullptr, 0).empty());
  CHECK_THROWS_AS(options_of(p.at, 1u << 30), Error);
  p.at[2] = nullptr;
  CHECK_THROWS_AS(options_of(p.at, 7), Error);
  p.at[2] = p.at[1];
  CHECK_THROWS_AS(options_of(p.at, 7), Error);
  p.at[2] = &p.list[2];
  CHECK_NOTHROW(check_defaults(options_of(p.at, 7)));
  p.list[2].fallback = "\"a text\"";
  CHECK_THROWS_AS(check_defaults(options_of(p.at, 7)), Error);
}
