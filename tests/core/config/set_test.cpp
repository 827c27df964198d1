#include "config/set.hpp"

#include <doctest/doctest.h>

#include "config/toml.hpp"
#include "refusal.hpp"

using namespace switchyard;

namespace {

const char* base =
    "seed = 1\n[train]\nsteps = 5\noptimizer = { type = 'adamw', lr = 1.0 }\n[data]\ntext = ['a', 'b']\n"
    "[[layer]]\nname = 'embed'\n[[layer]]\nname = 'h'\n[[layer.layer]]\nname = 'attn'\nheads = 4\n"
    "[[layer.layer]]\n[[layer]]\nname = 'twin'\n[[layer]]\nname = 'twin'\n";

Value with(const std::vector<std::string>& sets) {
  Value document = parse_toml(base, "f.toml");
  apply_sets(document, sets);
  return document;
}

std::string wrong_set(const std::string& set) {
  return refusal([&] { with({set}); });
}

}  // namespace

TEST_CASE("a value is TOML if it parses, else a string") {
  CHECK(with({"train.steps=7"}).find("train")->find("steps")->integer() == 7);
  CHECK(with({"train.steps=7.5"}).find("train")->find("steps")->real() == 7.5);
  CHECK(with({"train.x=true"}).find("train")->find("x")->boolean());
  CHECK(with({"train.x=[1, 2]"}).find("train")->find("x")->array().size() == 2);
  CHECK(with({"train.x={ a = 1 }"}).find("train")->find("x")->find("a")->integer() == 1);
  CHECK(with({"placement.policy=round_robin"}).find("placement")->find("policy")->string() == "round_robin");
  CHECK(with({"data.text=a=b # c"}).find("data")->find("text")->string() == "a=b # c");
  CHECK(with({"train.x="}).find("train")->find("x")->string() == "");
  CHECK(with({"train.x=\"7\""}).find("train")->find("x")->string() == "7");
}

TEST_CASE("an argument cannot bring further keys along") {
  Value v = with({"train.x=1\n[evil]\ny = 2"});
  CHECK(v.find("evil") == nullptr);
  CHECK(v.find("train")->find("x")->is(Value::Kind::string));
}

TEST_CASE("missing tables are made") {
  Value v = with({"a.b.c=1"});
  CHECK(v.find("a")->find("b")->find("c")->integer() == 1);
}

TEST_CASE("keys may be quoted, and blanks around parts do not count") {
  CHECK(with({"placement.explicit.\"h.*\"=cuda:1"}).find("placement")->find("explicit")->find("h.*")->string() ==
        "cuda:1");
  CHECK(with({"a . 'b.c' = 2"}).find("a")->find("b.c")->integer() == 2);
  CHECK(with({"a.\"q\\\"=\"=2"}).find("a")->find("q\"=")->integer() == 2);
}

TEST_CASE("the last one wins") {
  CHECK(with({"train.steps=7", "train.steps=8"}).find("train")->find("steps")->integer() == 8);
}

TEST_CASE("a key inside braces is changed alone") {
  Value v = with({"train.optimizer.lr=2.0"});
  CHECK(v.find("train")->find("optimizer")->find("lr")->real() == 2.0);
  CHECK(v.find("train")->find("optimizer")->find("type")->string() == "adamw");
}

TEST_CASE("layers are named by number or name, before expansion, also inside groups") {
  auto layer = [](const Value& v, std::size_t i) -> const Value& { return v.find("layer")->array()[i]; };
  CHECK(layer(with({"layer.0.width=8"}), 0).find("width")->integer() == 8);
  CHECK(layer(with({"layer.embed.width=8"}), 0).find("width")->integer() == 8);
  CHECK(layer(with({"layer.h.repeat=3"}), 1).find("repeat")->integer() == 3);
  auto part = [&](const char* set, std::size_t i) { return layer(with({set}), 1).find("layer")->array()[i]; };
  CHECK(part("layer.h.layer.0.heads=8", 0).find("heads")->integer() == 8);
  CHECK(part("layer.1.layer.attn.heads=8", 0).find("heads")->integer() == 8);
  CHECK(part("layer.h.layer.1.heads=8", 1).find("heads")->integer() == 8);
}

TEST_CASE("what was set carries the argument as its place") {
  Value v = with({"train.steps=7"});
  const Value& train = *v.find("train");
  CHECK(train.find("steps")->place.prefix() == "--set train.steps=7: ");
  CHECK(from_set(train.find("steps")->place));
  CHECK(train.table()[0].place.file == "--set train.steps=7");
  CHECK(!from_set(train.find("optimizer")->place));
}

TEST_CASE("mistakes name the argument") {
  CHECK_HOLDS(wrong_set("train.steps"), "--set train.steps: wanted KEY=VALUE");
  CHECK_HOLDS(wrong_set("a\nb"), "--set a\\nb: wanted KEY=VALUE");
  CHECK_HOLDS(wrong_set("=3"), "--set =3: ");
  CHECK_HOLDS(wrong_set(""), "--set : wanted KEY=VALUE");
  CHECK_HOLDS(wrong_set("a..b=3"), "a part of the key is empty");
  CHECK_HOLDS(wrong_set("a.=3"), "a part of the key is empty");
  CHECK_HOLDS(wrong_set("\"a=3"), "a quote in the key is not closed");
  CHECK_HOLDS(wrong_set("\"a\\x\"=3"), "no TOML string");
  CHECK_HOLDS(wrong_set("seed.x=3"), "--set seed.x=3: seed is an integer, no table; it has no key 'x'");
  CHECK_HOLDS(wrong_set("data.text.0=x"), "data.text is a list; set it as a whole");
  CHECK_HOLDS(wrong_set("layer.17.x=1"), "there is no entry 17 in layer: the file has 4");
  CHECK_HOLDS(wrong_set("layer.99999999999999999999.x=1"), "the file has 4");
  CHECK_HOLDS(wrong_set("layer.embd.x=1"), "no entry of layer is called 'embd'; did you mean 'embed'?");
  CHECK_HOLDS(wrong_set("layer.twin.x=1"), "two entries of layer are called 'twin'");
  CHECK_HOLDS(wrong_set("layer.embed=1"), "layer.embed is a whole entry");
  CHECK_HOLDS(wrong_set("layer.embed.layer.0.x=1"), "layer.embed has no [[layer]] entries");
}
