#include "data/tokenizer.hpp"

#include "base/error.hpp"

namespace switchyard {
namespace {

class ByteTokenizer : public Tokenizer {
 public:
  std::int64_t vocabulary() const override { return 256; }

  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    ids.reserve(text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::string text;
    text.reserve(ids.size());
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= 256)
        throw Error(SY_E_DATA, "token id " + std::to_string(id) + " is no byte: ids are 0 .. 255");
      text += static_cast<char>(id);
    }
    return text;
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  throw Error(SY_E_CONFIG, "unknown tokenizer '" + name + "'; there is \"bytes\"");
}

}  // namespace switchyard
