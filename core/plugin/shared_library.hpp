// Opening shared libraries; the only unit that knows Boost.DLL.
#pragma once

#include <string>

namespace switchyard {

/// A library that stays loaded for the life of the process, whatever becomes of this object. [any]
class SharedLibrary {
 public:
  /// Opens the file now-bound and local. Throws Error(SY_E_ABI) with the dynamic linker's words.
  static SharedLibrary open(const std::string& path);
  /// The address of an exported symbol; nullptr when there is none.
  void* symbol(const char* name) const;

 private:
  explicit SharedLibrary(std::size_t number) : number_(number) {}
  std::size_t number_;  // in the list of everything that was opened
};

}  // namespace switchyard
