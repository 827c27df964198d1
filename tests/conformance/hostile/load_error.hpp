// What loading a file ends with.
#pragma once

#include <string>

#include "base/error.hpp"
#include "plugin/loader.hpp"

/// SY_OK, "loaded" when it loads.
inline switchyard::Error load_error(const std::string& path) {
  try {
    switchyard::load_plugin(path);
  } catch (const switchyard::Error& e) {
    return e;
  }
  return switchyard::Error(SY_OK, "loaded");
}
