// The known word that is nearest to an unknown one.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace switchyard {

/// Letters to insert, drop, replace or swap with their neighbour. Case does not count; '-' and ' ' count as '_'.
int edit_distance(const std::string& a, const std::string& b);

/// The known word that is nearest to `word`, when it is reasonably near: at most a third of the letters differ. A known
/// word of several parts (gpt_block) is also found by its first ones (gtp).
std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& known);

/// "; did you mean 'x'?" when one is near, else "; known: a, b, c" (at most 20 of them), else "".
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace switchyard
