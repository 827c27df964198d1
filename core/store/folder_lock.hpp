// Keeps two writers of one folder apart.
#pragma once

#include <string>

namespace switchyard {

/// Holds an existing folder from construction to destruction; the end of the process, however it comes, ends it too.
/// Nothing is written into the folder, and readers are not kept out. SY_E_UNAVAILABLE: another FolderLock holds it, in
/// this or another process. On a file system without locks it keeps nobody apart. [any]
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int fd_ = -1;
};

}  // namespace switchyard
