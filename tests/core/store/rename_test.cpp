#include "store/rename.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

using Texts = std::vector<std::string>;

TensorSource zeros(const std::string& name, std::vector<std::int64_t> shape, sy_dtype type = dtype::f32) {
  return {name, type, std::move(shape),
          [](std::uint64_t, std::span<std::byte> to) { std::fill(to.begin(), to.end(), std::byte{0}); }};
}

/// A file with the forum's names: two blocks, one embedding.
struct Forum {
  TempFolder folder;
  TensorFiles files;
  Forum() {
    write_safetensors(folder / "w.safetensors",
                      {zeros("blocks.0.attn.in_proj_weight", {6, 2}), zeros("blocks.1.attn.in_proj_weight", {6, 2}),
                       zeros("embed.token.weight", {4, 2})});
    files = TensorFiles::open(folder / "w.safetensors");
  }
};

const std::vector<WantedTensor> wanted = {{"h.0.attn.qkv.weight", {6, 2}, dtype::f32},
                                          {"h.1.attn.qkv.weight", {6, 2}, dtype::f32},
                                          {"embed.token.weight", {4, 2}, dtype::f32}};
const WeightMap blocks = {{{"blocks.*.attn.in_proj_weight", "h.*.attn.qkv.weight"}}, false, {}};

std::string mistakes(const TensorFiles& files, const std::vector<WantedTensor>& want, const WeightMap& map) {
  return failure([&] { assign_weights(files, want, map); });
}

}  // namespace

TEST_CASE("stars match the shortest text from the left") {
  CHECK(match_stars("a.*.c", "a.b.c") == Texts{"b"});
  CHECK(match_stars("*.*", "a.b.c") == Texts{"a", "b.c"});
  CHECK(match_stars("*b*c", "abbcc") == Texts{"a", "bc"});
  CHECK(match_stars("*", "") == Texts{""});
  CHECK(match_stars("a", "a") == Texts{});
  CHECK(match_stars("a**b", "axb") == Texts{"", "x"});
  CHECK(!match_stars("a.*.c", "a.b.d"));
  CHECK(!match_stars("a", "ab"));
  CHECK(!match_stars("ab", "a"));
  CHECK(!match_stars("?", "a"));
  const std::string many(2000, 'a');
  CHECK(!match_stars("*a*a*a*a*a*a*a*a*b", many));  // no exponential search
  CHECK(fill_stars("h.*.x.*", {"3", "w"}) == "h.3.x.w");
}

TEST_CASE("patterns fill our names, unchanged names need no entry") {
  const Forum forum;
  const auto result = assign_weights(forum.files, wanted, blocks);
  CHECK(result.size() == 3);
  CHECK(result.at("h.0.attn.qkv.weight").tensor->name == "blocks.0.attn.in_proj_weight");
  CHECK(result.at("h.1.attn.qkv.weight").tensor->name == "blocks.1.attn.in_proj_weight");
  CHECK(result.at("embed.token.weight").tensor->name == "embed.token.weight");
}

TEST_CASE("an exact entry beats a pattern; patterns that disagree are named") {
  const Forum forum;
  WeightMap swapped = blocks;
  swapped.rename.push_back({"blocks.0.attn.in_proj_weight", "h.1.attn.qkv.weight"});
  swapped.rename.push_back({"blocks.1.attn.in_proj_weight", "h.0.attn.qkv.weight"});
  CHECK(assign_weights(forum.files, wanted, swapped).at("h.0.attn.qkv.weight").tensor->name ==
        "blocks.1.attn.in_proj_weight");
  WeightMap torn = blocks;
  torn.rename.push_back({"blocks.0.*", "g.*"});
  CHECK(
      contains(mistakes(forum.files, wanted, torn),
               "rename 'blocks.*.attn.in_proj_weight' and 'blocks.0.*' disagree about 'blocks.0.attn.in_proj_weight': "
               "'h.0.attn.qkv.weight' or 'g.attn.in_proj_weight'"));
  WeightMap agreed = blocks;
  agreed.rename.push_back({"*.attn.in_proj_weight", "*.attn.qkv.weight"});
  agreed.rename[0].second = "blocks.*.attn.qkv.weight";
  CHECK(!contains(mistakes(forum.files, wanted, agreed), "disagree"));
}

TEST_CASE("left-over and missing tensors are listed together") {
  const Forum forum;
  const std::string text = mistakes(forum.files, wanted, {});
  CHECK(text.starts_with(std::to_string(SY_E_CONFIG)));
  CHECK(contains(text, "the file has no 'h.0.attn.qkv.weight' [6, 2]\nthe file has no 'h.1.attn.qkv.weight' [6, 2]\n"));
  CHECK(contains(text, "the file's 'blocks.0.attn.in_proj_weight' [6, 2] is no tensor of the model"));
  CHECK(contains(text, "the file's 'blocks.1.attn.in_proj_weight' [6, 2] is no tensor of the model"));
  const std::vector<WantedTensor> fewer(wanted.begin(), wanted.begin() + 1);
  CHECK(
      contains(mistakes(forum.files, fewer, blocks), "'blocks.1.attn.in_proj_weight' (becomes 'h.1.attn.qkv.weight')"));
}

TEST_CASE("allow_unused forgives all or what its patterns match") {
  const Forum forum;
  const std::vector<WantedTensor> one = {wanted[2]};
  CHECK(assign_weights(forum.files, one, {{}, true, {}}).size() == 1);
  CHECK(assign_weights(forum.files, one, {{}, false, {"blocks.{0,1}.*"}}).size() == 1);
  const std::string text = mistakes(forum.files, one, {{}, false, {"blocks.0.*"}});
  CHECK(contains(text, "'blocks.1.attn.in_proj_weight'"));
  CHECK(!contains(text, "'blocks.0.attn.in_proj_weight'"));
}

TEST_CASE("what only counts, and what is optional, may be missing") {
  const Forum forum;
  auto want = wanted;
  want.push_back({"bn.num_batches_tracked", {}, dtype::i64});
  want.push_back({"head.bias", {4}, dtype::f32, true});
  CHECK(assign_weights(forum.files, want, blocks).size() == 3);
  want.push_back({"bn.running_mean", {4}, dtype::f32});
  CHECK(mistakes(forum.files, want, blocks) == "65 the file has no 'bn.running_mean' [4]");
}

TEST_CASE("shapes must be equal, types may differ among floats") {
  TempFolder folder;
  write_safetensors(folder / "w", {zeros("a", {2, 3}, dtype::bf16), zeros("b", {3, 2}), zeros("c", {1}, dtype::i64)});
  const TensorFiles files = TensorFiles::open(folder / "w");
  CHECK(assign_weights(files, {{"a", {2, 3}, dtype::f32}, {"b", {3, 2}, dtype::f16}, {"c", {1}, dtype::i64}}, {})
            .size() == 3);
  const std::string text = mistakes(
      files, {{"a", {3, 2}, dtype::f32}, {"x", {3, 2}, dtype::i64}, {"c", {1}, dtype::f32}}, {{{"b", "x"}}, false, {}});
  CHECK(contains(text, "'a' is [2, 3] in the file, the model needs [3, 2]"));
  CHECK(contains(text, "'x' (the file's 'b') is fp32 in the file, the model needs int64"));
  CHECK(contains(text, "'c' is int64 in the file, the model needs fp32"));
}

TEST_CASE("mistakes of rename itself are named") {
  const Forum forum;
  WeightMap map = blocks;
  map.rename.push_back({"layers.*", "h.*"});
  CHECK(mistakes(forum.files, wanted, map) == "65 rename 'layers.*' matches no tensor of the file (only * is special)");
  CHECK(contains(mistakes(forum.files, wanted, {{{"a.*", "b"}}, false, {}}), "rename 'a.*' has 1 *, 'b' has 0"));
  const std::string both =
      mistakes(forum.files, wanted, {{{"blocks.0.attn.in_proj_weight", "embed.token.weight"}}, true, {}});
  CHECK(contains(
      both, "the file's 'blocks.0.attn.in_proj_weight' and 'embed.token.weight' both become 'embed.token.weight'"));
  CHECK(failure([&] { assign_weights(forum.files, {}, {}, {"run.toml", 3, 1}); }).starts_with("65 run.toml:3:1: "));
}
