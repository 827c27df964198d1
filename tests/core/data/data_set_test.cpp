#include "data/data_set.hpp"

#include <doctest/doctest.h>

#include <set>

#include "../store/temp_folder.hpp"
#include "store/safetensors.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

using Ids = std::vector<std::int64_t>;

/// 0, 1, 2, ... as bytes.
std::string counting(int size, int from = 0) {
  std::string text;
  for (int i = 0; i < size; ++i) text += static_cast<char>(from + i);
  return text;
}

DataOptions text_options(const std::string& file, std::int64_t context, double validation) {
  DataOptions options;
  options.text = {file};
  options.context = context;
  options.validation = validation;
  return options;
}

Batch fill(const DataSource& source, const Ids& samples) {
  Batch batch;
  source.fill(samples, batch);
  CHECK(batch.samples == samples);
  return batch;
}

template <class T = std::int64_t>
std::vector<T> values(const HostTensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

template <class T>
TensorSource tensor(const std::string& name, sy_dtype type, std::vector<std::int64_t> shape, std::vector<T> data) {
  return {name, type, std::move(shape), [data](std::uint64_t offset, std::span<std::byte> to) {
            fill_from(std::as_bytes(std::span(data)))(offset, to);
          }};
}

std::string refusal(const DataOptions& options) {
  return failure([&] { open_data(options); });
}

}  // namespace

TEST_CASE("windows of a text, targets one token later, the tail held out") {
  TempFolder folder;
  write_file(folder / "t", counting(100));
  const DataSet set = open_data(text_options(folder / "t", 4, 0.2));
  CHECK(set.train->samples() == 76);
  CHECK(set.validation->samples() == 16);
  CHECK(set.train->inputs().shape == Ids{4});
  CHECK(set.train->inputs().id_limit == 256);
  CHECK(set.train->targets().kind == TargetKind::tokens);
  const Batch batch = fill(*set.train, {0, 75});
  CHECK(batch.inputs.shape() == Ids{2, 4});
  CHECK(values(batch.inputs) == Ids{0, 1, 2, 3, 75, 76, 77, 78});
  CHECK(values(batch.targets) == Ids{1, 2, 3, 4, 76, 77, 78, 79});
  CHECK(values(fill(*set.validation, {0, 15}).targets) == Ids{81, 82, 83, 84, 96, 97, 98, 99});
  CHECK(contains(failure([&] { fill(*set.train, {76}); }), "sample 76 is out of range: there are 76"));
  CHECK(contains(failure([&] { fill(*set.train, {-1}); }), "sample -1"));
}

TEST_CASE("several text files follow one another") {
  TempFolder folder;
  write_file(folder / "a", counting(3));
  write_file(folder / "b", "");
  write_file(folder / "c", counting(5, 200));
  DataOptions options = text_options(folder / "a", 4, 0);
  options.text = {folder / "a", folder / "b", folder / "c"};
  const DataSet set = open_data(options);
  CHECK(set.train->samples() == 4);
  CHECK(!set.validation);
  CHECK(set.evaluation_samples(8).empty());
  CHECK(values(fill(*set.train, {1, 3}).inputs) == Ids{1, 2, 200, 201, 200, 201, 202, 203});
}

TEST_CASE("a validation file stands for the tail") {
  TempFolder folder;
  write_file(folder / "t", counting(20));
  write_file(folder / "v", counting(9, 100));
  DataOptions options = text_options(folder / "t", 4, 0.5);
  options.validation_file = folder / "v";
  const DataSet set = open_data(options);
  CHECK(set.train->samples() == 16);
  CHECK(values(fill(*set.validation, {4}).targets) == Ids{105, 106, 107, 108});
}

TEST_CASE("too short a text is refused with both numbers and the part") {
  TempFolder folder;
  write_file(folder / "t", counting(10));
  const auto with = [&](std::int64_t context, double validation) {
    return refusal(text_options(folder / "t", context, validation));
  };
  CHECK(with(16, 0) == "65 the training part has 10 tokens, need >= 17 (model.context + 1)");
  const std::string both = with(16, 0.1);
  CHECK(contains(both, "the training part has 9 of the text's 10 tokens, need >= 17"));
  CHECK(contains(both, "the validation part has 1 of the text's 10 tokens, need >= 17"));
  CHECK(with(4, 0.1) == "65 the validation part has 1 of the text's 10 tokens, need >= 5 (model.context + 1)");
  CHECK(with(4, 0.5) == "");
  CHECK(contains(with(5, 0.5), "need >= 6"));
  CHECK(with(9, 0) == "");
  DataOptions options = text_options(folder / "t", 4, 0);
  write_file(folder / "v", "abcd");
  options.validation_file = folder / "v";
  CHECK(refusal(options) == "65 the validation part has 4 tokens, need >= 5 (model.context + 1)");
}

TEST_CASE("shuffled windows start anywhere, given ones follow each other") {
  TempFolder folder;
  write_file(folder / "t", counting(100));
  DataOptions options = text_options(folder / "t", 4, 0);
  std::set<std::int64_t> starts;
  auto drawn = open_data(options).order(8);
  for (int step = 1; step <= 200; ++step)
    for (const std::int64_t start : drawn.step(step)) starts.insert(start);
  CHECK(starts.size() == 96);
  CHECK(*starts.rbegin() == 95);
  options.shuffled = false;
  CHECK(open_data(options).order(3).step(2) == Ids{12, 16, 20});
  options.seed = 1;
  options.shuffled = true;
  CHECK(open_data(options).order(8).step(1) != drawn.step(1));
}

TEST_CASE("evaluation windows are spread evenly over the held-out part") {
  TempFolder folder;
  write_file(folder / "t", counting(200));
  const DataSet set = open_data(text_options(folder / "t", 4, 0.5));
  CHECK(set.validation->samples() == 96);
  CHECK(set.evaluation_samples(6) == Ids{0, 19, 38, 57, 76, 95});
  CHECK(set.evaluation_samples(1) == Ids{0});
  CHECK(set.evaluation_samples(1000).size() == 96);
}

TEST_CASE("a table is split by rows and shuffled by epochs") {
  TempFolder folder;
  write_file(folder / "t.csv", "x,y\n0,a\n1,b\n2,a\n3,b\n4,c\n");
  DataOptions options;
  options.table = folder / "t.csv";
  options.target = "y";
  options.validation = 0.4;
  const DataSet set = open_data(options);
  CHECK(set.train->samples() == 3);
  CHECK(set.validation->samples() == 2);
  CHECK(set.evaluation_samples(1) == Ids{0, 1});
  CHECK(values<float>(fill(*set.validation, {0, 1}).inputs) == std::vector<float>{3, 4});
  CHECK(values(fill(*set.validation, {1}).targets) == Ids{2});
  CHECK(values(fill(*set.train, {2, 1}).targets) == Ids{0, 1});
  const Ids epoch = set.order(3).step(1);
  CHECK(std::set<std::int64_t>(epoch.begin(), epoch.end()) == std::set<std::int64_t>{0, 1, 2});
  options.validation = 0.01;
  CHECK(contains(refusal(options), "the validation part has 0 of 5 samples, need >= 1"));
  options.target = "";
  CHECK(contains(refusal(options), "data.table needs data.target"));
}

TEST_CASE("a validation table uses the classes of training") {
  TempFolder folder;
  write_file(folder / "t.csv", "x,y\n0,a\n1,b\n");
  write_file(folder / "v.csv", "x,y\n5,b\n");
  DataOptions options;
  options.table = folder / "t.csv";
  options.target = "y";
  options.validation_file = folder / "v.csv";
  CHECK(values(fill(*open_data(options).validation, {0}).targets) == Ids{1});
  write_file(folder / "v.csv", "x,y\n5,z\n");
  CHECK(contains(refusal(options), "v.csv:2:3: class 'z' is not in the training table"));
}

TEST_CASE("tensors: numbers, ids, and every stored type") {
  TempFolder folder;
  write_safetensors(folder / "f",
                    {tensor<std::uint16_t>("inputs", dtype::bf16, {3, 2}, {0x3F80, 0, 0x4000, 0, 0xBF80, 0}),
                     tensor<std::uint8_t>("targets", dtype::u8, {3}, {7, 0, 255})});
  DataOptions options;
  options.tensors = folder / "f";
  options.validation = 0;
  const DataSet set = open_data(options);
  const Batch batch = fill(*set.train, {2, 0});
  CHECK(values<float>(batch.inputs) == std::vector<float>{-1, 0, 1, 0});
  CHECK(set.train->targets().kind == TargetKind::classes);
  CHECK(batch.targets.shape() == Ids{2});
  CHECK(values(batch.targets) == Ids{255, 7});

  write_safetensors(folder / "i", {tensor<std::int32_t>("inputs", dtype::i32, {2, 2}, {1, 2, 3, 4}),
                                   tensor<std::int64_t>("targets", dtype::i64, {2, 2}, {2, -100, 4, 5})});
  options.tensors = folder / "i";
  const Batch tokens = fill(*open_data(options).train, {1, 0});
  CHECK(values(tokens.inputs) == Ids{3, 4, 1, 2});
  CHECK(values(tokens.targets) == Ids{4, 5, 2, -100});
  CHECK(open_data(options).train->targets().kind == TargetKind::tokens);
  options.ids = false;
  options.targets = TargetKind::values;
  const Batch numbers = fill(*open_data(options).train, {1});
  CHECK(values<float>(numbers.inputs) == std::vector<float>{3, 4});
  CHECK(values<float>(numbers.targets) == std::vector<float>{4, 5});
}

TEST_CASE("integers of a tensor file may lie anywhere") {
  TempFolder folder;
  const std::string json = R"({"inputs":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                           R"("targets":{"dtype":"I64","shape":[1],"data_offsets":[1,9]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(json.size());
  write_file(folder / "f", file + json + "\x05" + std::string("\x09\0\0\0\0\0\0\0", 8));
  DataOptions options;
  options.tensors = folder / "f";
  options.validation = 0;
  const Batch batch = fill(*open_data(options).train, {0});
  CHECK(values(batch.inputs) == Ids{5});
  CHECK(values(batch.targets) == Ids{9});
}

TEST_CASE("tensor files that do not fit are refused") {
  TempFolder folder;
  DataOptions options;
  options.tensors = folder / "f";
  const auto inputs = tensor<float>("inputs", dtype::f32, {2, 1}, {1, 2});
  const auto with = [&](std::vector<TensorSource> tensors) {
    write_safetensors(folder / "f", std::move(tensors));
    return refusal(options);
  };
  CHECK(contains(with({inputs}), "there is no tensor 'targets'"));
  CHECK(contains(with({inputs, tensor<float>("targets", dtype::f32, {}, {1})}), "'targets' is a scalar"));
  CHECK(contains(with({inputs, tensor<float>("targets", dtype::f32, {1}, {1})}),
                 "'inputs' has 2 samples, 'targets' has 1"));
  CHECK(contains(with({inputs, tensor<char>("targets", dtype::boolean, {2}, {1, 0})}), "'targets' is bool"));
  const auto numbers = tensor<float>("targets", dtype::f32, {2}, {1, 2});
  options.targets = TargetKind::classes;
  CHECK(contains(with({inputs, numbers}), "but the loss wants class or token ids"));
  options.targets = {};
  options.ids = true;
  CHECK(contains(with({inputs, numbers}), "but the model reads ids"));
}

TEST_CASE("synthetic tokens are a function of seed and sample") {
  DataOptions options;
  options.synthetic = "tokens";
  options.context = 5;
  options.vocabulary = 64;
  const DataSet set = open_data(options);
  const Batch batch = fill(*set.train, {3, 9});
  const Ids inputs = values(batch.inputs), targets = values(batch.targets);
  CHECK(values(fill(*set.train, {9}).inputs) == Ids(inputs.begin() + 5, inputs.end()));
  CHECK(Ids(inputs.begin() + 1, inputs.begin() + 5) == Ids(targets.begin(), targets.begin() + 4));
  CHECK(values(fill(*set.validation, {3, 9}).inputs) != inputs);
  CHECK(set.order(2).step(3) == Ids{4, 5});
  CHECK(set.evaluation_samples(3) == Ids{0, 1, 2});
  std::vector<int> seen(64);
  for (std::int64_t sample = 0; sample < 2000; ++sample)
    for (const std::int64_t id : values(fill(*set.train, {sample}).inputs)) ++seen.at(static_cast<std::size_t>(id));
  for (const int count : seen) CHECK(std::abs(count - 156) < 60);
  options.seed = 1;
  CHECK(values(fill(*open_data(options).train, {3, 9}).inputs) != inputs);
}

TEST_CASE("the table [data] must name one kind of data") {
  DataOptions options;
  options.place = {"run.toml", 7, 1};
  CHECK(refusal(options) == "65 run.toml:7:1: [data] needs exactly one of text, table, tensors, synthetic; it has 0");
  options.synthetic = "tokens";
  options.vocabulary = 4;
  CHECK(contains(refusal(options), "model.context must say"));
  options.context = 2;
  CHECK(refusal(options) == "");
  options.validation = 1;
  CHECK(contains(refusal(options), "data.validation is a share"));
  options.validation = 0;
  options.text = {"a"};
  CHECK(contains(refusal(options), "it has 2"));
  options.synthetic = "";
  CHECK(contains(refusal(options), "cannot open 'a'"));
  options.tokenizer = "words";
  CHECK(contains(refusal(options), "unknown tokenizer 'words'"));
}
