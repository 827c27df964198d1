// The note by which a plugin is known before any code of it runs; see SY_PLUGIN_NOTE in plugin.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace switchyard {

/// "abi=0.1;cxx11abi=1;torch=2.11;id=org.example.mlp", taken apart. Empty: the note does not say.
struct PluginNote {
  std::uint32_t abi_major = 0;
  std::uint32_t abi_minor = 0;
  std::string id;
  std::string cxx11abi;
  std::string torch;  // major.minor of the LibTorch that it was built against
};

/// Reads the note of a shared library without loading it. Every offset is checked against the file, so that a damaged
/// file is refused here and never reaches dlopen. Throws Error, the text naming the file and the reason:
/// SY_E_NOT_FOUND (no such file), SY_E_DENIED (unreadable), SY_E_ABI (everything else). [any]
PluginNote read_plugin_note(const std::string& path);

/// The pieces of it, for tests and fuzzing. They throw Error(SY_E_ABI) with the reason alone.
class ByteSource;
std::string find_note_text(const ByteSource& file);
PluginNote parse_note_text(const std::string& text);

/// Something that can be read at any offset.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  /// Exactly `count` bytes. Throws Error(SY_E_ABI) "is truncated" when they do not lie within the file.
  std::vector<unsigned char> read(std::uint64_t offset, std::uint64_t count, const char* what) const;

 protected:
  /// Called with a range inside the file only; false: the system could not read it.
  virtual bool read_into(std::uint64_t offset, unsigned char* to, std::size_t count) const = 0;
};

}  // namespace switchyard
