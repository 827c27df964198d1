#include "store/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "store/file_error.hpp"

namespace switchyard {
namespace {

/// Closes on scope exit; the mapping outlives it.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

MappedFile MappedFile::open(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) throw file_error("open", path, errno);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) throw file_error("read", path, errno);
  if (!S_ISREG(status.st_mode)) throw Error(SY_E_ARGUMENT, "cannot read '" + path + "': it is not a regular file");
  MappedFile result;
  result.path_ = path;
  result.size_ = static_cast<std::size_t>(status.st_size);
  if (result.size_ == 0) return result;
  void* data = ::mmap(nullptr, result.size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) throw file_error("map", path, errno);
  result.data_ = static_cast<const std::byte*>(data);
  return result;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(part.data() - data_);
  const std::size_t first = (offset + page - 1) / page * page;  // only pages that lie wholly inside
  const std::size_t end = (offset + part.size()) / page * page;
  if (first < end) ::madvise(const_cast<std::byte*>(data_) + first, end - first, MADV_DONTNEED);
}

}  // namespace switchyard
