#include "plugin/elf_note.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace switchyard {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half own_machine = EM_AARCH64;
#else
#error "add the ELF machine number of this processor"
#endif

constexpr char owner[] = "Switchyard";  // the NUL is part of the note's name
constexpr Elf64_Word note_type = 1;
constexpr std::uint64_t most_note_bytes = 1 << 20;
constexpr Elf64_Half most_segments = 1024;  // real libraries have about ten

[[noreturn]] void refuse(const std::string& reason) { throw Error(SY_E_ABI, reason); }

template <class T>
T read_struct(const ByteSource& file, std::uint64_t offset, const char* what) {
  T value;
  std::memcpy(&value, file.read(offset, sizeof(T), what).data(), sizeof(T));
  return value;
}

Elf64_Ehdr read_header(const ByteSource& file) {
  if (file.size() == 0) refuse("is empty");
  const auto start = file.read(0, std::min<std::uint64_t>(file.size(), EI_NIDENT), "its first bytes");
  if (start.size() < SELFMAG || std::memcmp(start.data(), ELFMAG, SELFMAG) != 0)
    refuse("is no shared library (it does not begin like an ELF file)");
  const auto ident = file.read(0, EI_NIDENT, "its first bytes");
  if (ident[EI_CLASS] == ELFCLASS32) refuse("is a 32-bit library; this program is a 64-bit one");
  if (ident[EI_CLASS] != ELFCLASS64) refuse("is damaged (ELF class " + std::to_string(ident[EI_CLASS]) + ")");
  if (ident[EI_DATA] != ELFDATA2LSB) refuse("is a big-endian library; this program is a little-endian one");
  const auto header = read_struct<Elf64_Ehdr>(file, 0, "its ELF header");
  if (header.e_machine != own_machine)
    refuse("is made for another processor (ELF machine " + std::to_string(header.e_machine) + "; this program's is " +
           std::to_string(own_machine) + ")");
  if (header.e_type != ET_DYN) refuse("is no shared library (ELF type " + std::to_string(header.e_type) + ", not 3)");
  return header;
}

/// The part of a table that lies in the file; refuses one that does not fit.
std::vector<Elf64_Phdr> read_segments(const ByteSource& file, const Elf64_Ehdr& header) {
  if (header.e_phnum == 0 || header.e_phnum > most_segments || header.e_phentsize != sizeof(Elf64_Phdr))
    refuse("is damaged (its table of segments makes no sense)");
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const auto bytes = file.read(header.e_phoff, segments.size() * sizeof(Elf64_Phdr), "its table of segments");
  std::memcpy(segments.data(), bytes.data(), bytes.size());
  return segments;
}

/// dlopen maps what the headers promise and dies of SIGBUS where the file ends early: refused before.
void check_complete(const ByteSource& file, const Elf64_Ehdr& header, const std::vector<Elf64_Phdr>& segments) {
  const auto within = [&](std::uint64_t offset, std::uint64_t count, const char* what) {
    if (offset <= file.size() && count <= file.size() - offset) return;
    refuse("is truncated: it ends after " + std::to_string(file.size()) + " bytes, before the end of " + what);
  };
  for (const Elf64_Phdr& s : segments)
    if (s.p_type == PT_LOAD || s.p_type == PT_DYNAMIC) {
      within(s.p_offset, s.p_filesz, s.p_type == PT_LOAD ? "a segment" : "its dynamic section");
      if (s.p_filesz > s.p_memsz) refuse("is damaged (a segment is larger in the file than in memory)");
    }
  if (header.e_shoff != 0)
    within(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize, "its table of sections");
}

/// Adds the texts of our notes in one PT_NOTE segment.
void collect_notes(const std::vector<unsigned char>& notes, std::uint64_t align, std::vector<std::string>& found) {
  const auto padded = [align](std::uint64_t n) { return (n + align - 1) / align * align; };
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr head;
    std::memcpy(&head, notes.data() + at, sizeof(head));
    const std::uint64_t name = at + sizeof(head);
    const std::uint64_t text = padded(name + head.n_namesz);  // places are aligned, not lengths: 12 + 4 in a note of 8
    if (text > notes.size() || head.n_descsz > notes.size() - text)
      refuse("is damaged (a note ends behind its segment)");
    if (head.n_type == note_type && head.n_namesz == sizeof(owner) &&
        std::memcmp(notes.data() + name, owner, sizeof(owner)) == 0)
      found.emplace_back(reinterpret_cast<const char*>(notes.data() + text), head.n_descsz);
    at = text + padded(head.n_descsz);
  }
}

std::uint32_t parse_number(std::string_view digits, const char* what) {
  std::uint32_t value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed != std::errc() || end != digits.data() + digits.size())
    refuse(std::string("has a garbled note: '") + std::string(digits) + "' is no number (" + what + ")");
  return value;
}

void parse_abi(std::string_view value, PluginNote& note) {
  const std::size_t dot = value.find('.');
  if (dot == std::string_view::npos) refuse("has a garbled note: abi is '" + std::string(value) + "', not MAJOR.MINOR");
  note.abi_major = parse_number(value.substr(0, dot), "abi");
  note.abi_minor = parse_number(value.substr(dot + 1), "abi");
}

/// A regular file, open for reading.
class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::string& path) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block
    if (descriptor_ < 0) {
      const int why = errno;
      throw Error(why == EACCES || why == EPERM     ? SY_E_DENIED
                  : why == ENOENT || why == ENOTDIR ? SY_E_NOT_FOUND
                                                    : SY_E_ABI,
                  std::string("cannot be read: ") + std::strerror(why));
    }
    struct stat s {};
    if (fstat(descriptor_, &s) != 0 || !S_ISREG(s.st_mode)) {
      ::close(descriptor_);
      refuse("is no file");
    }
    size_ = static_cast<std::uint64_t>(s.st_size);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { ::close(descriptor_); }

  std::uint64_t size() const override { return size_; }

 private:
  bool read_into(std::uint64_t offset, unsigned char* to, std::size_t count) const override {
    while (count > 0) {
      const ssize_t n = ::pread(descriptor_, to, count, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      to += n, offset += static_cast<std::uint64_t>(n), count -= static_cast<std::size_t>(n);
    }
    return true;
  }
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace

std::vector<unsigned char> ByteSource::read(std::uint64_t offset, std::uint64_t count, const char* what) const {
  if (offset > size() || count > size() - offset)
    refuse("is truncated: it ends after " + std::to_string(size()) + " bytes, before the end of " + what);
  std::vector<unsigned char> bytes(count);
  if (count > 0 && !read_into(offset, bytes.data(), bytes.size())) refuse(std::string("cannot be read: ") + what);
  return bytes;
}

std::string find_note_text(const ByteSource& file) {
  const Elf64_Ehdr header = read_header(file);
  const std::vector<Elf64_Phdr> segments = read_segments(file, header);
  check_complete(file, header, segments);
  std::vector<std::string> found;
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type != PT_NOTE) continue;
    if (s.p_filesz > most_note_bytes) refuse("is damaged (a note of " + std::to_string(s.p_filesz) + " bytes)");
    collect_notes(file.read(s.p_offset, s.p_filesz, "its notes"), s.p_align == 8 ? 8 : 4, found);
  }
  if (found.empty()) refuse("is no Switchyard plugin: it has no note of the owner \"Switchyard\" (SY_PLUGIN_NOTE)");
  if (found.size() > 1)
    refuse("has more than one note of the owner \"Switchyard\"; SY_PLUGIN_NOTE belongs in one file");
  return found.front();
}

PluginNote parse_note_text(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty() && rest.back() == '\0') rest.remove_suffix(1);
  for (const char c : rest)
    if (c < ' ' || c > '~') refuse("has a garbled note (a byte that is no letter)");
  PluginNote note;
  std::vector<std::string_view> seen;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      refuse("has a garbled note: '" + std::string(item) + "' is not KEY=VALUE");
    const std::string_view key = item.substr(0, equals), value = item.substr(equals + 1);
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      refuse("has a garbled note: '" + std::string(key) + "' stands there twice");
    seen.push_back(key);
    if (key == "abi") parse_abi(value, note);
    if (key == "id") note.id = value;
    if (key == "cxx11abi") note.cxx11abi = value;
    if (key == "torch") note.torch = value;  // other keys are for people and for later versions
  }
  if (std::find(seen.begin(), seen.end(), "abi") == seen.end())
    refuse("has a garbled note: abi=MAJOR.MINOR is missing");
  if (note.id.empty()) refuse("has a garbled note: id=... is missing");
  return note;
}

PluginNote read_plugin_note(const std::string& path) {
  try {
    return parse_note_text(find_note_text(FileSource(path)));
  } catch (const Error& e) {
    throw Error(e.code(), path + " " + e.what());
  }
}

}  // namespace switchyard
