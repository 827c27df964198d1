#include "config/nearest.hpp"

#include <doctest/doctest.h>

#include "config/hints.hpp"
#include "refusal.hpp"

using namespace switchyard;

TEST_CASE("distance counts letters and swaps; case and the kind of dash do not count") {
  CHECK(edit_distance("heads", "heads") == 0);
  CHECK(edit_distance("haeds", "heads") == 1);
  CHECK(edit_distance("head", "heads") == 1);
  CHECK(edit_distance("micro-batches", "Micro_Batches") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("only what is reasonably near is proposed") {
  std::vector<std::string> known = {"heads", "width", "bias", "dropout", "gpt_block"};
  CHECK(nearest("haeds", known) == "heads");
  CHECK(nearest("drop_out", known) == "dropout");
  CHECK(nearest("gtp", known) == "gpt_block");
  CHECK(nearest("gpt", known) == "gpt_block");
  CHECK(!nearest("momentum", known));
  CHECK(!nearest("xx", known));
  CHECK(!nearest("", known));
  CHECK(!nearest("a", {"b"}));
}

TEST_CASE("the end of a message proposes, or lists") {
  CHECK(did_you_mean("haeds", {"heads", "width"}) == "; did you mean 'heads'?");
  CHECK(did_you_mean("momentum", {"heads", "width"}) == "; known: heads, width");
  CHECK(did_you_mean("momentum", {}) == "");
  std::vector<std::string> many(50, "name");
  CHECK_HOLDS(did_you_mean("momentum", many), ", ...");
}

TEST_CASE("people from elsewhere are told our words") {
  CHECK_HOLDS(*foreign_key_hint("device_map"), "[placement.explicit]");
  CHECK_HOLDS(*foreign_key_hint("gradient_accumulation_steps"), "train.accumulate");
  CHECK_HOLDS(*foreign_key_hint("train_micro_batch_size_per_gpu"), "schedule.micro_batches");
  CHECK_HOLDS(*foreign_key_hint("per_device_train_batch_size"), "train.batch");
  CHECK_HOLDS(*foreign_key_hint("lerning_rate"), "train.optimizer.lr");
  CHECK_HOLDS(*foreign_key_hint("replicas"), "never copied");
  CHECK_HOLDS(*foreign_value_hint("precision.type", "16-mixed"), "precision.type = \"fp16\"");
  CHECK_HOLDS(*foreign_value_hint("precision.type", "BF16-mixed"), "\"bf16\"");
  CHECK(!foreign_value_hint("train.steps", "16-mixed"));
  CHECK(!foreign_key_hint("zzz"));
}

TEST_CASE("an unknown key gets the best hint there is") {
  std::vector<std::string> known = {"steps", "batch"};
  CHECK(unknown_key_hint("stesp", known) == "; did you mean 'steps'?");
  CHECK_HOLDS(unknown_key_hint("learning_rate", known), "train.optimizer.lr");
  CHECK(unknown_key_hint("micro_batches", known) == "; did you mean schedule.micro_batches?");
  CHECK(unknown_key_hint("momentum", known) == "; known: steps, batch");
}
