#include "plugin/utf8.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace switchyard {

std::string valid_utf8(const std::string& text) {
  using Json = nlohmann::json;
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; })) return text;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace switchyard
