#include "plugin/shared_library.hpp"

#include <dlfcn.h>

#include <boost/dll/shared_library.hpp>
#include <deque>
#include <mutex>

#include "base/error.hpp"

namespace switchyard {
namespace {

struct Opened {
  std::mutex mutex;
  std::deque<boost::dll::shared_library> libraries;
};

/// Never destroyed: what dlclose does depends on compiler, visibility and thread_local, so nothing is ever closed.
Opened& opened() {
  static auto* all = new Opened;
  return *all;
}

}  // namespace

SharedLibrary SharedLibrary::open(const std::string& path) {
  using boost::dll::load_mode::rtld_local;
  using boost::dll::load_mode::rtld_now;
  boost::dll::shared_library library;
  std::error_code failed;
  library.load(path, rtld_now | rtld_local, failed);
  if (failed) {
    const char* why = dlerror();
    throw Error(SY_E_ABI, path + " cannot be loaded: " + (why ? why : failed.message()));
  }
  const std::lock_guard lock(opened().mutex);
  opened().libraries.push_back(std::move(library));
  return SharedLibrary(opened().libraries.size() - 1);
}

void* SharedLibrary::symbol(const char* name) const {
  const std::lock_guard lock(opened().mutex);
  const auto& library = opened().libraries[number_];
  return library.has(name) ? &library.get<char>(name) : nullptr;
}

}  // namespace switchyard
