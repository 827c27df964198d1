// Files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace switchyard {

/// Writes into a file of another name in the same folder; commit() flushes it to the disk and renames it into place.
/// Without commit() the destructor removes it and whatever stood at `path` stays. [one thread at a time]
/// Errors of all functions: those of file_error (a full disk: SY_E_UNAVAILABLE).
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

/// Replaces the file's content in one step.
void write_file_atomically(const std::string& path, std::string_view text);
/// Makes the names in a folder (files created, renamed, removed) durable.
void flush_folder(const std::string& folder);
/// Makes `link` a symbolic link to `target`, replacing an older link in one step.
void replace_link(const std::string& target, const std::string& link);

}  // namespace switchyard
