// The keys of the core's own tables, with types, defaults and ranges.
#pragma once

#include <string>
#include <vector>

#include "config/schema.hpp"

namespace switchyard {

struct TableSpec {
  std::string name;  // "train", "train.lr_schedule"; "" for the top
  std::string help;
  std::vector<OptionSpec> options;
};

/// In the order of the reference. Sub-tables that are written in braces have entries of their own.
const std::vector<TableSpec>& core_tables();
/// The one of that name. Throws Error(SY_E_INTERNAL) for another one.
const TableSpec& core_table(const std::string& name);

}  // namespace switchyard
