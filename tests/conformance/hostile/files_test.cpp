// Files that are no plugins, or were damaged: refused without being loaded.
#include <doctest/doctest.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "base/error.hpp"
#include "folder.hpp"
#include "load_error.hpp"

using namespace switchyard;

namespace {

void check(const std::string& path, sy_rc code, const std::string& part) {
  const Error e = load_error(path);
  CHECK_MESSAGE(e.code() == code, path << " -> " << e.what());
  CHECK_MESSAGE(std::string(e.what()).find(part) != std::string::npos, part << " in: " << e.what());
  CHECK_MESSAGE(std::string(e.what()).find(path) != std::string::npos, path << " in: " << e.what());
}

/// Not root for a while, since root may read everything.
class Nobody {
 public:
  Nobody() : was_(geteuid()) {
    if (was_ == 0 && seteuid(65534) != 0) was_ = 1;
  }
  ~Nobody() {
    if (was_ == 0 && seteuid(0) != 0) std::abort();
  }

 private:
  uid_t was_;
};

}  // namespace

TEST_CASE("text files, empty files, folders, pipes and missing files") {
  const Folder f;
  check(f.write("sy-layer-text.so", "hello, I am a text file\n"), SY_E_ABI, "no shared library");
  check(f.write("sy-layer-empty.so", ""), SY_E_ABI, "empty");
  check(f.write("sy-layer-short.so",
                "\x7f"
                "EL"),
        SY_E_ABI, "no shared library");
  std::filesystem::create_directory(f.at("sy-layer-folder.so"));
  check(f.at("sy-layer-folder.so"), SY_E_ABI, "no file");
  REQUIRE(mkfifo(f.at("sy-layer-pipe.so").c_str(), 0600) == 0);
  check(f.at("sy-layer-pipe.so"), SY_E_ABI, "no file");
  check(f.at("sy-layer-missing.so"), SY_E_NOT_FOUND, "cannot be read");
  std::filesystem::create_symlink(f.at("nowhere"), f.at("sy-layer-dangling.so"));
  check(f.at("sy-layer-dangling.so"), SY_E_NOT_FOUND, "cannot be read");
}

TEST_CASE("an unreadable file") {
  const Folder f;
  const std::string path = f.write("sy-layer-secret.so", bytes_of(hostile("good")));
  REQUIRE(chmod(f.path().c_str(), 0755) == 0);
  REQUIRE(chmod(path.c_str(), 0) == 0);
  const Nobody nobody;
  if (access(path.c_str(), R_OK) == 0 && geteuid() == 0) {
    std::cout << "[skipped] this process may read everything\n";
    return;
  }
  check(path, SY_E_DENIED, "Permission denied");
}

TEST_CASE("objects for other machines") {
  const Folder f;
  std::string small = bytes_of(hostile("good"));
  small[EI_CLASS] = ELFCLASS32;
  check(f.write("sy-layer-32bit.so", small), SY_E_ABI, "32-bit");

  Elf32_Ehdr head{};  // as a compiler for 32 bits writes it
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS32;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_type = ET_DYN;
  head.e_machine = EM_386;
  check(f.write("sy-layer-386.so", std::string(reinterpret_cast<const char*>(&head), sizeof(head))), SY_E_ABI,
        "32-bit");

  std::string object = bytes_of(hostile("good"));
  object[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
  check(f.write("sy-layer-object.so", object), SY_E_ABI, "no shared library");
}

TEST_CASE("a plugin that was cut off anywhere is refused; dlopen would end in SIGBUS") {
  const Folder f;
  const std::string whole = bytes_of(hostile("good"));
  REQUIRE(whole.size() > 1000);
  for (std::size_t n = 0; n < whole.size(); n += 97) {
    const Error e = load_error(f.write("sy-layer-cut.so", whole.substr(0, n)));
    REQUIRE_MESSAGE(e.code() == SY_E_ABI, n << " bytes: " << e.what());
  }
  check(f.write("sy-layer-cut.so", whole.substr(0, whole.size() - 1)), SY_E_ABI, "truncated");
}
