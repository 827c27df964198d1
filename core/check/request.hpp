// What the author of a plugin asks for besides the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/value.hpp"
#include "model/model.hpp"

namespace switchyard::checks {

struct Request {
  std::vector<Port> inputs;      // empty: a few are tried in turn; a loss layer's last one is its targets
  std::optional<sy_dtype> type;  // the only compute type to try
  Value options;                 // of whatever is checked
  std::string only;              // name of the one thing to check; "": all

  /// "4x8", "4x6:int64": rows first; without a type, numbers of the compute type. Throws Error(SY_E_CONFIG).
  void add_input(const std::string& text);
  /// "out=16"
  void add_option(const std::string& text);
  /// "fp64", "fp32", "bf16", "fp16"
  void set_type(const std::string& text);
};

}  // namespace switchyard::checks
