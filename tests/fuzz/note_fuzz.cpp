// A plugin's file, before anything of it runs: the note is found and read, or refused with an Error.
#include <cstring>

#include "base/error.hpp"
#include "plugin/elf_note.hpp"

namespace {

class Bytes : public switchyard::ByteSource {
 public:
  Bytes(const unsigned char* data, std::size_t count) : data_(data), count_(count) {}
  std::uint64_t size() const override { return count_; }

 protected:
  bool read_into(std::uint64_t offset, unsigned char* to, std::size_t count) const override {
    std::memcpy(to, data_ + offset, count);  // the sanitizer sees what lies outside
    return true;
  }

 private:
  const unsigned char* data_;
  std::size_t count_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t count) {
  try {
    switchyard::parse_note_text(switchyard::find_note_text(Bytes(data, count)));
  } catch (const switchyard::Error&) {
  }
  try {
    switchyard::parse_note_text(std::string(reinterpret_cast<const char*>(data), count));
  } catch (const switchyard::Error&) {
  }
  return 0;
}
