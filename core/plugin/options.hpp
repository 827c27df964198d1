// Options across the border: what a plugin publishes, and the checked table that it reads from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/schema.hpp"
#include "switchyard/base.h"

/// What sy_host's cfg_* getters read.
struct sy_config {
  switchyard::Options options;
};

namespace switchyard {

/// Copies of a plugin's options. Throws Error(SY_E_ABI): the list or one of its items is missing or malformed.
std::vector<OptionSpec> options_of(const sy_option* const* options, std::uint32_t count);
/// The same for any of the tables of a plugin: sy_layer_api, sy_policy_api, ...
template <class Api>
std::vector<OptionSpec> options_of(const Api& api) {
  return options_of(api.options, api.n_options);
}

/// The user's table for a plugin, checked before its create is called; mistakes go to `errors`, see check_options.
template <class Api>
sy_config check_plugin_options(const Api& api, const Value& table, ErrorList& errors, const std::string& where) {
  return {check_options(table, options_of(api), errors, where)};
}

/// Throws Error(SY_E_ABI) when an option's default does not fit the option itself.
void check_defaults(const std::vector<OptionSpec>& options);

/// Writes the cfg_* slots. They throw nothing.
void fill_option_getters(sy_host& host);

}  // namespace switchyard
