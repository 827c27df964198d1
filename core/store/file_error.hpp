// What the operating system refused, as an Error.
#pragma once

#include <string>

#include "base/error.hpp"

namespace switchyard {

/// "cannot WHAT 'path': reason" from an errno value. Codes: ENOENT and ENOTDIR SY_E_NOT_FOUND; EACCES, EPERM and EROFS
/// SY_E_DENIED; EEXIST SY_E_EXISTS; anything else, such as a full disk, SY_E_UNAVAILABLE.
Error file_error(const std::string& what, const std::string& path, int error_number);

}  // namespace switchyard
