#include "data/tokenizer.hpp"

#include <doctest/doctest.h>

#include <random>

#include "../store/temp_folder.hpp"
#include "base/error.hpp"

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE("bytes come back as they went in") {
  const auto bytes = make_tokenizer("bytes");
  CHECK(bytes->vocabulary() == 256);
  const auto survives = [&](const std::string& text) { return bytes->decode(bytes->encode(text)) == text; };
  for (int c = 0; c < 256; ++c) CHECK(survives(std::string(1, static_cast<char>(c))));
  CHECK(survives("\xC3\xA9 \xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\x9A\x82 e\xCC\x81"));
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::string text(random() % 50, '\0');
    for (char& c : text) c = static_cast<char>(random());
    REQUIRE(survives(text));
  }
}

TEST_CASE("an id is the byte's value") {
  const auto bytes = make_tokenizer("bytes");
  CHECK(bytes->encode("A\xFF") == std::vector<std::int64_t>{65, 255});
  for (const std::int64_t id : {std::int64_t{256}, std::int64_t{-1}})
    CHECK(failure([&] { bytes->decode(std::span(&id, 1)); }) ==
          "15 token id " + std::to_string(id) + " is no byte: ids are 0 .. 255");
}

TEST_CASE("an unknown tokenizer is refused") {
  CHECK(failure([] { make_tokenizer("gpt2"); }) == "65 unknown tokenizer 'gpt2'; there is \"bytes\"");
}
