// REFERENCE.md names every key of machine files with its default and its range.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "../config/refusal.hpp"
#include "machine/description.hpp"

using namespace switchyard;

namespace {

/// The part of the reference about machine files; empty where the source folder is not known.
std::string reference() {
  const char* source = std::getenv("SWITCHYARD_SOURCE");
  std::ifstream stream(std::string(source ? source : ".") + "/core/config/REFERENCE.md");
  std::stringstream text;
  text << stream.rdbuf();
  const std::size_t begin = text.str().find("\n## Machine files\n");
  return begin == std::string::npos ? "" : text.str().substr(begin, text.str().find("\n## ", begin + 1) - begin);
}

/// The row of a key in the section of its table.
std::string row(const std::string& text, const std::string& table, const std::string& key) {
  const std::string title = table.empty() ? "Top" : table == "device" ? "`[[device]]`" : "`[" + table + "]`";
  const std::size_t begin = text.find("\n### " + title + "\n");
  if (begin == std::string::npos) return "";
  const std::string section = text.substr(begin, text.find("\n### ", begin + 1) - begin);
  const std::size_t at = section.find("\n| `" + key + "` |");
  return at == std::string::npos ? "" : section.substr(at + 1, section.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE("the reference explains every key of machine files") {
  const std::string text = reference();
  if (text.empty() && !std::getenv("SWITCHYARD_SOURCE")) {
    std::cout << "skipped: SWITCHYARD_SOURCE does not name the source folder\n";
    return;
  }
  for (const TableSpec& table : machine_tables())
    for (const OptionSpec& option : table.options) {
      const std::string line = row(text, table.name, option.key);
      CHECK_MESSAGE(line != "", "[", table.name, "] ", option.key);
      CHECK_HOLDS(line, wanted_text(option));
      const std::string standard = !option.fallback           ? "required"
                                   : option.fallback->empty() ? "none"
                                                              : "`" + *option.fallback + "`";
      CHECK_HOLDS(line, "| " + standard + " |");
    }
}
