// The API's handles, closed by themselves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "failure.hpp"

namespace cli {

template <class T, void (*close)(T*)>
struct Closer {
  void operator()(T* handle) const { close(handle); }
};
using Runtime = std::unique_ptr<sy_runtime, Closer<sy_runtime, sy_runtime_close>>;
using Plan = std::unique_ptr<sy_plan, Closer<sy_plan, sy_plan_free>>;

/// `path`: a configuration or a run; "": none.
Runtime open_runtime(const std::string& path = "", const std::vector<std::string>& sets = {});

/// Text that a function of the API gives.
std::string text_of(const std::function<sy_rc(char** give, sy_error** err)>& function);

}  // namespace cli
