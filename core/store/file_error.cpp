#include "store/file_error.hpp"

#include <cerrno>
#include <system_error>

namespace switchyard {
namespace {

sy_rc code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return SY_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
      return SY_E_DENIED;
    case EEXIST:
      return SY_E_EXISTS;
    default:
      return SY_E_UNAVAILABLE;
  }
}

}  // namespace

Error file_error(const std::string& what, const std::string& path, int error_number) {
  return Error(code_of(error_number),
               "cannot " + what + " '" + path + "': " + std::generic_category().message(error_number));
}

}  // namespace switchyard
