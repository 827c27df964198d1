// REFERENCE.md names every key of the core with its default and its range.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "config/tables.hpp"
#include "refusal.hpp"

using namespace switchyard;

namespace {

std::string reference() {
  const char* source = std::getenv("SWITCHYARD_SOURCE");
  std::ifstream stream(std::string(source ? source : ".") + "/core/config/REFERENCE.md");
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The line of a table row that explains a key, within the section of its table.
std::string row(const std::string& text, const std::string& table, const std::string& key) {
  std::string title = table.empty() ? "\n## Top\n" : table == "layer" ? "\n## `[[layer]]`" : "\n## `[" + table + "]`";
  std::size_t begin = text.find(title);
  if (begin == std::string::npos) return "";
  std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
  std::size_t at = section.find("\n| `" + key + "` |");
  return at == std::string::npos ? "" : section.substr(at + 1, section.find('\n', at + 1) - at - 1);
}

std::string in_a_row(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
  return text;
}

}  // namespace

TEST_CASE("the reference explains every key") {
  std::string text = reference();
  if (text.empty()) {
    std::cout << "[skipped] SWITCHYARD_SOURCE does not name the source folder\n";
    return;
  }
  for (const TableSpec& table : core_tables())
    for (const OptionSpec& option : table.options) {
      std::string line = row(text, table.name, option.key);
      CHECK_MESSAGE(line != "", "[", table.name, "] ", option.key);
      if (line.empty()) continue;
      CHECK_HOLDS(line, in_a_row(wanted_text(option)));
      std::string standard = !option.fallback           ? "required"
                             : option.fallback->empty() ? "none"
                                                        : "`" + *option.fallback + "`";
      CHECK_HOLDS(line, "| " + standard + " |");
    }
}
