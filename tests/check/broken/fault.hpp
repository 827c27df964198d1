// Which fault a broken plugin shall have: the environment says so, so that each is compiled once.
#pragma once

#include <cstdlib>
#include <cstring>

inline bool broken(const char* fault) {
  const char* wanted = std::getenv("FAULT");
  return wanted && std::strcmp(wanted, fault) == 0;
}
