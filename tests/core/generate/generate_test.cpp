#include "generate/generate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "../train/small_models.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::unique_ptr<Session> model(const std::vector<std::string>& sets = {}, const std::string& extra = "") {
  const Workshop shop(extra);
  return open(shop.text(), sets, Purpose::generate);
}

GenerateRequest ask(const std::string& prompt, std::int64_t tokens, double temperature = 1) {
  GenerateRequest request;
  request.prompt = prompt;
  request.tokens = tokens;
  request.sampler.temperature = temperature;
  request.sampler.seed = 5;
  return request;
}

/// Only the first ids of the byte tokenizer.
class ShortTokenizer : public Tokenizer {
 public:
  std::int64_t vocabulary() const override { return 60; }
  std::vector<std::int64_t> encode(std::string_view text) const override { return bytes_->encode(text); }
  std::string decode(std::span<const std::int64_t> ids) const override {
    for (const std::int64_t id : ids) CHECK(id < 60);
    return bytes_->decode(ids);
  }

 private:
  std::unique_ptr<Tokenizer> bytes_ = make_tokenizer("bytes");
};

}  // namespace

TEST_CASE("the text does not depend on the plan") {
  for (const double temperature : {0.0, 1.0}) {
    const auto one = model({"devices.use=[\"cpu:0\"]"})->generate(ask("abcd", 12, temperature));
    CHECK(one.ids.size() == 12);
    CHECK(model()->generate(ask("abcd", 12, temperature)).ids == one.ids);
    CHECK(model(other_plan)->generate(ask("abcd", 12, temperature)).ids == one.ids);
  }
}

TEST_CASE("generating twice gives the same text; another seed another") {
  auto session = model();
  const Generated first = session->generate(ask("abcd", 20));
  CHECK(session->generate(ask("abcd", 20)).text == first.text);
  GenerateRequest other = ask("abcd", 20);
  other.sampler.seed = 6;
  CHECK(session->generate(other).ids != first.ids);
}

TEST_CASE("slide equals cropping by hand") {
  auto session = model();
  const Generated all = session->generate(ask("abcdef", 10, 0));
  CHECK(all.end == "tokens");
  std::vector<std::int64_t> ids = {'a', 'b', 'c', 'd', 'e', 'f'};
  for (const std::int64_t id : all.ids) {
    std::string last8;
    for (std::size_t i = ids.size() > 8 ? ids.size() - 8 : 0; i < ids.size(); ++i) last8 += static_cast<char>(ids[i]);
    CHECK(session->generate(ask(last8, 1, 0)).ids[0] == id);
    ids.push_back(id);
  }
}

TEST_CASE("stop ends at the context") {
  GenerateRequest request = ask("abcdef", 10);
  request.overflow = "stop";
  auto session = model();
  const Generated some = session->generate(request);
  CHECK(some.ids.size() == 2);
  CHECK(some.end == "context");
  request.prompt = "abcdefghij";
  CHECK(session->generate(request).ids.empty());
}

TEST_CASE("error names prompt, new tokens and context") {
  GenerateRequest request = ask("abcdef", 10);
  request.overflow = "error";
  auto session = model();
  const std::string text = failure([&] { session->generate(request); });
  CHECK(contains(text, "65 generate.overflow = \"error\": prompt of 6 tokens + 10 new ones: 16 > 8"));
  request.tokens = 2;
  CHECK(session->generate(request).ids.size() == 2);
}

TEST_CASE("the pieces put together are the text, which ends before the stop text") {
  auto session = model();
  std::string pieces;
  const auto collect = [&](const std::string& piece) {
    pieces += piece;
    return true;
  };
  const Generated whole = session->generate(ask("abcd", 30), collect);
  CHECK(pieces == whole.text);
  // Stop at the first ASCII letter after some others.
  std::size_t at = 5;
  while (at < whole.ids.size() && whole.ids[at] >= 128) ++at;
  REQUIRE(at < whole.ids.size());
  GenerateRequest request = ask("abcd", 30);
  request.stop = std::string(1, static_cast<char>(whole.ids[at]));
  pieces.clear();
  const Generated cut = session->generate(request, collect);
  CHECK(cut.end == "stop");
  CHECK(cut.ids.size() <= at + 1);
  CHECK(pieces == cut.text);
  CHECK(whole.text.starts_with(cut.text.substr(0, cut.text.size() < 4 ? 0 : cut.text.size() - 3)));
  CHECK(!contains(cut.text, request.stop));
}

TEST_CASE("a listener that has enough ends the text") {
  int pieces = 0;
  const Generated text = model()->generate(ask("abcd", 50), [&](const std::string&) { return ++pieces < 3; });
  CHECK(text.end == "cancelled");
  CHECK(text.ids.size() < 50);
}

TEST_CASE("ids above the tokenizer's size are never written") {
  auto session = model();
  const ShortTokenizer tokenizer;
  CHECK(generate(session->pipe(), tokenizer, 8, ask("123", 100)).ids.size() == 100);
}

TEST_CASE("prompts that cannot be taken are refused with place and limit") {
  auto session = model();
  CHECK(contains(failure([&] { session->generate(ask("", 5)); }), "65 generate.prompt is empty"));
  const Workshop shop;
  auto small = open(shop.text(), {"layer.embed.vocabulary=100", "layer.head.vocabulary=100"}, Purpose::generate);
  CHECK(contains(failure([&] { small->generate(ask("abc\x7f", 5)); }),
                 "id 127 at position 3 is out of range: the model's ids are 0 .. 99"));
  auto table = open(shop.table(), {}, Purpose::generate);
  CHECK(contains(failure([&] { table->generate(ask("abc", 5)); }), "65 this model writes no text"));
}

TEST_CASE("scores that are not finite end in an error, and the session goes on") {
  auto session = model({}, "[[layer]]\ntype='faulty'\nfault='nan'\nname='bad'\nin='backward'\n");
  CHECK(session->generate(ask("abcd", 2)).ids.size() == 2);
  auto broken = model({}, "[[layer]]\ntype='faulty'\nfault='nan'\nname='bad'\n");
  for (int i = 0; i < 2; ++i) CHECK(contains(failure([&] { broken->generate(ask("a", 1)); }), "not finite"));
}

TEST_CASE("the JSON holds prompt, text, ids and why it ended") {
  Generated generated;
  generated.text = "x\"y";
  generated.ids = {1, 2};
  generated.prompt_tokens = 3;
  generated.end = "stop";
  CHECK(generated_json(ask("p", 1), generated) ==
        R"({"prompt":"p","text":"x\"y","ids":[1,2],"prompt_tokens":3,"end":"stop","seconds":0.0})");
}
