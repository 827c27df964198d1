// The note of a plugin, read from bytes. Every damage ends in a named reason.
#include "plugin/elf_note.hpp"

#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <random>

#include "../../support/text.hpp"
#include "base/error.hpp"

using namespace switchyard;
using switchyard::test::contains;

namespace {

class Bytes : public ByteSource {
 public:
  std::vector<unsigned char> data;
  std::uint64_t size() const override { return data.size(); }
  template <class T>
  void put(std::size_t at, const T& value) {
    if (data.size() < at + sizeof(T)) data.resize(at + sizeof(T));
    std::memcpy(data.data() + at, &value, sizeof(T));
  }
  void put_text(std::size_t at, const std::string& text) {
    if (data.size() < at + text.size()) data.resize(at + text.size());
    std::memcpy(data.data() + at, text.data(), text.size());
  }

 private:
  bool read_into(std::uint64_t offset, unsigned char* to, std::size_t count) const override {
    std::memcpy(to, data.data() + offset, count);
    return true;
  }
};

/// A note in the layout of an ELF file, with its NULs; name and text end at multiples of `align` bytes.
std::string note(const std::string& owner, std::uint32_t type, const std::string& text, std::size_t align = 4) {
  const Elf64_Nhdr head{static_cast<Elf64_Word>(owner.size() + 1), static_cast<Elf64_Word>(text.size() + 1), type};
  std::string all(reinterpret_cast<const char*>(&head), sizeof(head));
  for (const std::string& part : {owner, text}) {
    all += part + '\0';
    all.resize((all.size() + align - 1) / align * align);
  }
  return all;
}

/// A segment of notes, each aligned to `align` bytes.
struct Notes {
  std::string bytes;
  std::size_t align = 4;
};

constexpr std::size_t segments_at = sizeof(Elf64_Ehdr), notes_at = segments_at + 2 * sizeof(Elf64_Phdr);

/// The smallest file that looks like a shared library with segments of notes.
Bytes library(const std::vector<Notes>& all) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_type = ET_DYN;
#if defined(__aarch64__)
  head.e_machine = EM_AARCH64;
#else
  head.e_machine = EM_X86_64;
#endif
  head.e_phoff = segments_at;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = static_cast<Elf64_Half>(1 + all.size());
  Bytes b;
  b.put(0, head);
  std::size_t at = segments_at + head.e_phnum * sizeof(Elf64_Phdr), segment = segments_at;
  for (const Notes& notes : all) {
    Elf64_Phdr noted{};
    noted.p_type = PT_NOTE;
    noted.p_offset = at;
    noted.p_filesz = noted.p_memsz = notes.bytes.size();
    noted.p_align = notes.align;
    b.put(segment += sizeof(noted), noted);
    b.put_text(at, notes.bytes);
    at += (notes.bytes.size() + 7) / 8 * 8;
  }
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_filesz = load.p_memsz = b.data.size();
  b.put(segments_at, load);
  return b;
}
Bytes library(const std::string& notes) { return library(std::vector<Notes>{{notes}}); }

const std::string good_text = "abi=0.1;cxx11abi=1;torch=2.11;cuda=13.0;id=org.example.mlp";

std::string refusal(const Bytes& b) {
  try {
    parse_note_text(find_note_text(b));
  } catch (const Error& e) {
    CHECK(e.code() == SY_E_ABI);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a note is found among others and taken apart") {
  const PluginNote n = parse_note_text(find_note_text(
      library(note("GNU", 3, "build id") + note("Switchyard", 2, "later") + note("Switchyard", 1, good_text))));
  CHECK(n.abi_major == 0);
  CHECK(n.abi_minor == 1);
  CHECK(n.cxx11abi == "1");
  CHECK(n.torch == "2.11");
  CHECK(n.id == "org.example.mlp");
}

TEST_CASE("a note is found among notes that are aligned to 8 bytes") {
  // Names and texts whose ends are no multiples of 8: read as if aligned to 4, the next note would lie elsewhere.
  for (const char* owner : {"GNU", "FreeBSD"})
    for (const char* text : {"x", "four", "a build id of 23 bytes"}) {
      const std::string notes =
          note(owner, 5, text, 8) + note("Switchyard", 1, good_text + ";x=y", 8) + note(owner, 1, text, 8);
      CHECK(parse_note_text(find_note_text(library(std::vector<Notes>{{notes, 8}}))).id == "org.example.mlp");
    }
}

TEST_CASE("a note is found in one of several segments of different alignment") {
  // As linkers lay them out where the compiler marks code for control-flow protection.
  const Notes property{note("GNU", NT_GNU_PROPERTY_TYPE_0, std::string(15, '\2'), 8), 8};
  const Notes build_id{note("GNU", NT_GNU_BUILD_ID, std::string(20, '\3')), 4};
  const Notes ours{note("GNU", NT_GNU_BUILD_ID, "id") + note("Switchyard", 1, good_text), 4};
  const Notes ours_of_8{note("Switchyard", 1, good_text, 8), 8};
  CHECK(refusal(library({property, ours})) == "");
  CHECK(refusal(library({ours, property})) == "");
  CHECK(refusal(library({build_id, property, ours_of_8})) == "");
  CHECK(contains(refusal(library({property, build_id})), "no Switchyard plugin"));
  CHECK(contains(refusal(library({ours, property, ours_of_8})), "more than one"));
}

TEST_CASE("files that are no library say what they are") {
  Bytes text;
  CHECK(contains(refusal(text), "empty"));
  text.put_text(0, "#!/bin/sh\necho hello\n");
  CHECK(contains(refusal(text), "no shared library"));
  text.data.resize(2);
  CHECK(contains(refusal(text), "no shared library"));
  Bytes b = library(note("Switchyard", 1, good_text));
  b.data[EI_CLASS] = ELFCLASS32;
  CHECK(contains(refusal(b), "32-bit"));
  b.data[EI_CLASS] = ELFCLASS64;
  b.data[EI_DATA] = ELFDATA2MSB;
  CHECK(contains(refusal(b), "big-endian"));
  b.data[EI_DATA] = ELFDATA2LSB;
  b.put(offsetof(Elf64_Ehdr, e_machine), Elf64_Half{EM_S390});
  CHECK(contains(refusal(b), "processor"));
  b = library(note("Switchyard", 1, good_text));
  b.put(offsetof(Elf64_Ehdr, e_type), Elf64_Half{ET_EXEC});
  CHECK(contains(refusal(b), "no shared library"));
}

TEST_CASE("a library without our note, or with two, is no plugin") {
  CHECK(contains(refusal(library(note("GNU", 1, "x"))), "no Switchyard plugin"));
  CHECK(contains(refusal(library(note("Switchyard", 2, good_text))), "no Switchyard plugin"));
  CHECK(contains(refusal(library("")), "no Switchyard plugin"));
  CHECK(
      contains(refusal(library(note("Switchyard", 1, good_text) + note("Switchyard", 1, good_text))), "more than one"));
}

TEST_CASE("garbled notes name what is garbled") {
  for (const auto& [text, part] :
       std::vector<std::pair<std::string, std::string>>{{"", "abi"},
                                                        {"id=x", "abi"},
                                                        {"abi=0.1", "id"},
                                                        {"abi=0.1;id=", "id"},
                                                        {"abi=01;id=x", "MAJOR.MINOR"},
                                                        {"abi=0.x;id=x", "'x'"},
                                                        {"abi=0.-1;id=x", "'-1'"},
                                                        {"abi=0.99999999999;id=x", "99999999999"},
                                                        {"abi=0.1;abi=1.0;id=x", "twice"},
                                                        {"abi=0.1;=y;id=x", "KEY=VALUE"},
                                                        {"abi=0.1;;id=x", "KEY=VALUE"},
                                                        {"abi=0.1;id=\x01\xff", "no letter"}}) {
    const std::string why = refusal(library(note("Switchyard", 1, text)));
    CHECK_MESSAGE(contains(why, part), text << " -> " << why);
  }
}

TEST_CASE("sizes within notes are not believed") {
  Bytes b = library(note("Switchyard", 1, good_text));
  for (std::uint32_t size : {1000u, 0x7FFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFDu}) {
    Bytes name = b, text = b;
    name.put(notes_at + offsetof(Elf64_Nhdr, n_namesz), size);
    text.put(notes_at + offsetof(Elf64_Nhdr, n_descsz), size);
    CHECK(contains(refusal(name), "damaged"));
    CHECK(contains(refusal(text), "damaged"));
  }
}

TEST_CASE("a file that was cut off anywhere is refused") {
  const Bytes whole = library(note("Switchyard", 1, good_text));
  CHECK(refusal(whole) == "");
  for (std::size_t n = 0; n < whole.data.size(); ++n) {
    Bytes cut = whole;
    cut.data.resize(n);
    CHECK(refusal(cut) != "");
  }
}

TEST_CASE("offsets at the end of the number range do not wrap") {
  const Bytes whole = library(note("Switchyard", 1, good_text));
  const std::size_t noted = segments_at + sizeof(Elf64_Phdr);
  for (std::uint64_t big : {~std::uint64_t{0}, ~std::uint64_t{0} - 63, std::uint64_t{1} << 63, std::uint64_t{1} << 40})
    for (std::size_t field :
         {offsetof(Elf64_Ehdr, e_phoff), offsetof(Elf64_Ehdr, e_shoff), segments_at + offsetof(Elf64_Phdr, p_offset),
          segments_at + offsetof(Elf64_Phdr, p_filesz), noted + offsetof(Elf64_Phdr, p_offset),
          noted + offsetof(Elf64_Phdr, p_filesz)}) {
      Bytes b = whole;
      b.put(field, big);
      CHECK(refusal(b) != "");
    }
}

TEST_CASE("random damage never crashes") {
  const Bytes whole = library(note("GNU", 3, "build id") + note("Switchyard", 1, good_text));
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes b = whole;
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      b.data[random() % b.data.size()] = static_cast<unsigned char>(random());
    if (random() % 8 == 0) b.data.resize(random() % b.data.size());
    refused += refusal(b) != "";
  }
  CHECK(refused > 10000);
}
