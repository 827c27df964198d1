#include <cstdlib>
#include <mutex>

#include "allocator.hpp"
#include "switchyard/cpp/torch.hpp"

namespace sy {

sy_rc attach_glue(const sy_host* table, sy_error** err) {
  static std::once_flag once;
  attach(table, err);
  return guard(err, [] {
    std::call_once(once, [] {
      // Without it LibTorch refuses every product in deterministic mode. Here, since nothing else runs yet.
      setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
      install_counting_allocator();
    });
  });
}

void rethrow_as_fault() {
  try {
    throw;
  } catch (const fault&) {
    throw;
  } catch (const c10::OutOfMemoryError& e) {
    throw fault(SY_E_NO_MEMORY, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    throw fault(SY_E_INTERNAL, e.what_without_backtrace());
  }
}

}  // namespace sy
