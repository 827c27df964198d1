#include "config/nearest.hpp"

#include <algorithm>
#include <cctype>

#include "config/value.hpp"

namespace switchyard {
namespace {

constexpr std::size_t compared_letters = 256;  // longer words are compared by their beginning
constexpr std::size_t most_listed = 20;

std::string normal(const std::string& word) {
  std::string out = word.substr(0, compared_letters);
  for (char& c : out) c = c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

int reach(std::size_t letters) { return letters < 2 ? 0 : static_cast<int>(std::max<std::size_t>(1, letters / 3)); }

}  // namespace

int edit_distance(const std::string& a, const std::string& b) {
  std::string s = normal(a), t = normal(b);
  std::vector<int> before_last, last(t.size() + 1), now(t.size() + 1);
  for (std::size_t j = 0; j <= t.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= s.size(); ++i) {
    now[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= t.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (s[i - 1] != t[j - 1])});
      if (i > 1 && j > 1 && s[i - 1] == t[j - 2] && s[i - 2] == t[j - 1])
        now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    before_last = last;
    std::swap(last, now);
  }
  return last[t.size()];
}

std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  int least = 1 << 20;
  auto consider = [&](const std::string& candidate, const std::string& compared, int handicap) {
    int distance = edit_distance(word, compared);
    if (distance > reach(std::min(word.size(), compared.size()))) return;
    if (distance + handicap < least) least = distance + handicap, best = candidate;
  };
  for (const std::string& candidate : known) {
    consider(candidate, candidate, 0);
    for (std::size_t end = candidate.find('_'); end != std::string::npos; end = candidate.find('_', end + 1))
      consider(candidate, candidate.substr(0, end), 1);
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  if (auto near = nearest(word, known)) return "; did you mean '" + on_one_line(*near) + "'?";
  if (known.empty()) return "";
  std::string list;
  for (std::size_t i = 0; i < known.size() && i < most_listed; ++i) list += (i ? ", " : "") + known[i];
  return "; known: " + on_one_line(list) + (known.size() > most_listed ? ", ..." : "");
}

}  // namespace switchyard
