#include "store/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "store/file_error.hpp"

namespace switchyard {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// A name beside `path` that nobody else uses: what a killed process of the same number left there is replaced.
std::string temporary_name(const std::string& path) { return path + ".part-" + std::to_string(::getpid()); }

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), temporary_(temporary_name(path)) {
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw file_error("write", path_, errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw file_error("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) throw file_error("write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw file_error("write", path_, errno);
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) throw file_error("write", path_, errno);
  flush_folder(folder_of(path_));
}

void write_file_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void flush_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw file_error("open", folder, errno);
  const int flushed = ::fsync(fd);
  const int reason = errno;
  ::close(fd);
  if (flushed != 0 && reason != EINVAL) throw file_error("flush", folder, reason);  // EINVAL: it cannot be flushed
}

void replace_link(const std::string& target, const std::string& link) {
  const std::string temporary = temporary_name(link);
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) throw file_error("write", link, errno);
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    throw file_error("write", link, reason);
  }
  flush_folder(folder_of(link));
}

}  // namespace switchyard
