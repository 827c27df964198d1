// What a person who wrote an unknown word most likely meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace switchyard {

/// Letters to insert, drop, replace or swap with the neighbour. Case does not count; '-' and ' ' count as '_'.
int edit_distance(const std::string& a, const std::string& b);

/// The known word that is nearest to `word`, when it is reasonably near (about a third of the letters differ at most).
std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& known);

/// "; did you mean 'x'?" when one is near, else "; known: a, b, c" (at most 12 of them), else "".
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

/// What an unknown key or value of another framework is called here, e.g. device_map: "write [placement.explicit]";
/// misspelt ones are found too. Nothing when it is not in the table.
std::optional<std::string> foreign_key_hint(const std::string& key);
std::optional<std::string> foreign_value_hint(const std::string& key_path, const std::string& value);

}  // namespace switchyard
