#include "store/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "store/file_error.hpp"

namespace switchyard {

FolderLock::FolderLock(const std::string& folder) {
  fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) throw file_error("open", folder, errno);
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(fd_);
  throw Error(SY_E_UNAVAILABLE, "another run, or another program, is writing into '" + folder +
                                    "' now; wait until it ends, or choose another folder");
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace switchyard
