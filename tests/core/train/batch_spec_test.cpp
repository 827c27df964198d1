#include "train/batch_spec.hpp"

#include <doctest/doctest.h>

#include "small_models.hpp"
#include "store/safetensors.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

Config parse(const std::string& text, const std::vector<std::string>& sets = {}) {
  return parse_config(text, "/nowhere/c.toml", sets);
}

std::string fails(const Config& config, bool with_data) {
  return failure([&] { open_model(config, registry(), with_data); });
}

std::string linear_to_classes(const std::string& more) {
  return "[[layer]]\ntype='plain_linear'\nout=3\n[[layer]]\ntype='plain_cross_entropy'\n" + more;
}

void write_tensors(const std::string& path, sy_dtype inputs, sy_dtype targets) {
  static const std::vector<std::byte> zeros(4096);
  const auto source = [](const char* name, sy_dtype type, std::vector<std::int64_t> shape) {
    const auto bytes = static_cast<std::size_t>(element_count(shape)) * dtype_bytes(type);
    return TensorSource{name, type, shape, fill_from(std::span(zeros).first(bytes))};
  };
  write_safetensors(path, {source("inputs", inputs, {10, 4}), source("targets", targets, {10})});
}

}  // namespace

TEST_CASE("a text gives context tokens and as many targets, and is not opened unless asked for") {
  const Config config = parse(text_layers() + text_training);
  const ModelAndData opened = open_model(config, registry(), false);
  CHECK(!opened.data);
  CHECK(opened.model->batch().input_shape == Shape{8});
  CHECK(opened.model->batch().target_shape == Shape{8});
  CHECK(opened.model->batch().input_dtype == dtype::i64);
  CHECK(contains(fails(config, true), "/nowhere/book.txt"));
}

TEST_CASE("made-up tokens stay below the model's vocabulary") {
  const Config config = parse(text_layers() + "[train]\nbatch=4\n[data]\nsynthetic='tokens'\n");
  const ModelAndData opened = open_model(config, registry(), true);
  CHECK(opened.data->train->inputs().id_limit == 256);
}

TEST_CASE("a table gives its columns; class names are classes") {
  const Workshop shop;
  const ModelAndData opened = open_model(load_config(shop.table()), registry(), true);
  CHECK(opened.model->batch().input_shape == Shape{2});
  CHECK(opened.model->batch().input_dtype == dtype::f32);
  CHECK(opened.model->batch().target_shape == Shape{});
  CHECK(opened.data->train->targets().class_names.size() == 3);
}

TEST_CASE("whole numbers in a target column become classes where the loss takes classes") {
  const Workshop shop;
  write_file(shop / "n.csv", "a,b,y\n1,2,0\n3,4,2\n5,6,1\n7,8,0\n");
  const Config config =
      parse(linear_to_classes("[data]\ntable='" + (shop / "n.csv") + "'\ntarget='y'\nvalidation=0\n"));
  const ModelAndData opened = open_model(config, registry(), true);
  CHECK(opened.data->train->targets().kind == TargetKind::classes);
  CHECK(opened.model->batch().target_dtype == dtype::i64);
}

TEST_CASE("integers in a tensor file become numbers where the first layer takes numbers") {
  const Workshop shop;
  write_tensors(shop / "x.safetensors", dtype::u8, dtype::i64);
  const Config config = parse(linear_to_classes("[data]\ntensors='" + (shop / "x.safetensors") + "'\n"));
  const ModelAndData opened = open_model(config, registry(), true);
  CHECK(opened.model->batch().input_dtype == dtype::f32);
  CHECK(opened.data->train->targets().kind == TargetKind::classes);
}

TEST_CASE("what the layers cannot take in any way is their own error, placed") {
  const Workshop shop;
  write_file(shop / "n.csv", "a,b,y\n1,2,0.5\n3,4,2\n5,6,1\n7,8,0\n");
  const Config config =
      parse(linear_to_classes("[data]\ntable='" + (shop / "n.csv") + "'\ntarget='y'\nvalidation=0\n"));
  const std::string text = fails(config, true);
  CHECK(contains(text, "65 /nowhere/c.toml:4:1: layer 1 'plain_cross_entropy.0'"));
}

TEST_CASE("without data, model.input or model.context tells what a sample is") {
  const Config rows = parse(linear_to_classes("[model]\ninput={shape=[5], type='fp32'}\n"));
  CHECK(open_model(rows, registry(), false).model->batch().input_shape == Shape{5});
  const Config tokens = parse(text_layers());
  CHECK(open_model(tokens, registry(), false).model->batch().target_shape == Shape{8});
  CHECK(token_context(tokens) == 8);
  CHECK(!token_context(rows));
}

TEST_CASE("what is missing is named, with what to write") {
  CHECK(contains(fails(parse(linear_to_classes("")), false),
                 "nothing tells what a sample looks like; add [data], model.context"));
  CHECK(contains(fails(parse(text_layers()), true), "[data] is missing; add it with text"));
  const std::string no_context = fails(parse(linear_to_classes("[data]\ntext='x'\n")), false);
  CHECK(contains(no_context, "/nowhere/c.toml:7:"));
  CHECK(contains(no_context, "add model.context"));
}

TEST_CASE("model.input must be what the data hold") {
  const Workshop shop;
  const Config config = load_config(shop.table(), {"model.input={shape=[7],type='fp32'}"});
  CHECK(contains(fails(config, true), "model.input.shape is [7], samples of [data] are [2]"));
}
