#include "store/tensor_files.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

TensorSource one_byte(const std::string& name) {
  return {name, dtype::u8, {1}, [](std::uint64_t, std::span<std::byte> to) { to[0] = std::byte{1}; }};
}

/// Two shards: a and b in the first, c in the second.
struct Shards {
  TempFolder folder;
  Shards() {
    write_safetensors(folder / "1.safetensors", {one_byte("a"), one_byte("b")});
    write_safetensors(folder / "2.safetensors", {one_byte("c")});
  }
  void index(const std::string& weight_map) const {
    write_file(folder / "model.safetensors.index.json", "{\"metadata\":{},\"weight_map\":{" + weight_map + "}}");
  }
  std::string failure_of_open() const {
    return failure([&] { TensorFiles::open(folder.path()); });
  }
};

const std::string right = R"("a":"1.safetensors","b":"1.safetensors","c":"2.safetensors")";

}  // namespace

TEST_CASE("a folder stands for its model file, or its index") {
  Shards shards;
  shards.index(right);
  const TensorFiles files = TensorFiles::open(shards.folder.path());
  CHECK(files.path().ends_with("/model.safetensors.index.json"));
  CHECK(files.tensors().size() == 3);
  CHECK(files.find("c")->file->path().ends_with("/2.safetensors"));
  CHECK(files.find("d") == nullptr);
  write_safetensors(shards.folder / "model.safetensors", {one_byte("only")});
  CHECK(TensorFiles::open(shards.folder.path()).find("only") != nullptr);
  TempFolder empty;
  CHECK(contains(failure([&] { TensorFiles::open(empty.path()); }), "model.safetensors"));
}

TEST_CASE("index and shards are compared, every difference is listed") {
  Shards shards;
  shards.index(
      R"("a":"2.safetensors","b":"1.safetensors","c":"2.safetensors","x":"3.safetensors","y":"1.safetensors")");
  const std::string text = shards.failure_of_open();
  CHECK(text.starts_with(std::to_string(SY_E_DATA)));
  CHECK(contains(text, "tensor 'a' is not in '2.safetensors', where the index has it"));
  CHECK(contains(text, "tensor 'a' is in '1.safetensors', the index has it in '2.safetensors'"));
  CHECK(contains(text, "3.safetensors': No such file"));
  CHECK(contains(text, "tensor 'y' is not in '1.safetensors'"));
  CHECK(!contains(text, "tensor 'b'"));
  shards.index(R"("a":"1.safetensors","c":"2.safetensors")");
  CHECK(contains(shards.failure_of_open(), "tensor 'b' of '1.safetensors' is not in the index"));
}

TEST_CASE("a tensor that lies in two shards is listed") {
  Shards shards;
  write_safetensors(shards.folder / "2.safetensors", {one_byte("c"), one_byte("a")});
  shards.index(right);
  CHECK(contains(shards.failure_of_open(), "tensor 'a' is in '2.safetensors', the index has it in '1.safetensors'"));
}

TEST_CASE("a broken index says why") {
  Shards shards;
  const auto with = [&](const std::string& text) {
    write_file(shards.folder / "model.safetensors.index.json", text);
    return shards.failure_of_open();
  };
  CHECK(contains(with("{"), "not JSON"));
  CHECK(contains(with(""), "not JSON"));
  CHECK(contains(with("[]"), "'weight_map'"));
  CHECK(contains(with("{\"weight_map\":[]}"), "'weight_map'"));
  CHECK(contains(with("{\"weight_map\":{\"a\":1}}"), "the file of tensor 'a' is not a text"));
  CHECK(
      contains(with("{\"weight_map\":{\"a\":\"1.safetensors\",\"a\":\"1.safetensors\"}}"), "tensor 'a' stands twice"));
  CHECK(contains(with("{\"weight_map\":{\"a\":\"../1.safetensors\"}}"), "'../1.safetensors' leads out of"));
  CHECK(contains(with("{\"weight_map\":{\"a\":\"/etc/passwd\"}}"), "leads out of"));
}
