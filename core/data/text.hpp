// Text as bytes: windows of tokens with the same window, one token later, as targets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/source.hpp"
#include "store/mapped_file.hpp"

namespace switchyard {

/// The bytes of some files, one after the other, without copying them. Reading is [any].
class Text {
 public:
  /// Errors: those of MappedFile::open.
  static std::shared_ptr<const Text> open(const std::vector<std::string>& files);
  std::int64_t size() const { return begins_.back(); }
  /// The values (0 .. 255) of `count` bytes from `begin` on, across files.
  void read(std::int64_t begin, std::int64_t count, std::int64_t* to) const;

 private:
  std::vector<MappedFile> files_;
  std::vector<std::int64_t> begins_{0};  // of each file, and the end
};

/// Windows over bytes [begin, end) of the text: sample s holds tokens s .. s + context - 1 of the part, its targets are
/// one token later. There are end - begin - context samples; the caller has checked that this is at least 1.
std::unique_ptr<DataSource> make_text_source(std::shared_ptr<const Text> text, std::int64_t begin, std::int64_t end,
                                             std::int64_t context);

}  // namespace switchyard
