// Which LibTorch is in this process already.
#pragma once

#include <string>
#include <vector>

namespace switchyard {

struct MappedTorch {
  std::string path;
  std::string version;  // "2.11"
};

/// Every LibTorch that is mapped, however it came here. Loads nothing. [any]
std::vector<MappedTorch> mapped_torch();

}  // namespace switchyard
