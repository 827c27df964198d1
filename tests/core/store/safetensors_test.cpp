#include "store/safetensors.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::string bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TensorSource source(const std::string& name, sy_dtype type, std::vector<std::int64_t> shape, const std::string& bytes) {
  return {name, type, std::move(shape), [bytes](std::uint64_t offset, std::span<std::byte> to) {
            REQUIRE(offset + to.size() <= bytes.size());
            std::memcpy(to.data(), bytes.data() + offset, to.size());
          }};
}

/// A file from its JSON and its data.
std::string file_of(const std::string& json, const std::string& data = "") {
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(static_cast<std::uint64_t>(json.size()) >> (8 * i));
  return length + json + data;
}

SafetensorsHeader parse(const std::string& file) {
  return parse_safetensors_header(std::as_bytes(std::span(file.data(), file.size())), "w");
}

std::string refusal(const std::string& file) {
  return failure([&] { parse(file); });
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& span) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + span + "}";
}

}  // namespace

TEST_CASE("what is written is read back") {
  TempFolder folder;
  const std::string path = folder / "w.safetensors";
  write_safetensors(path,
                    {source("b", dtype::f32, {2, 2}, "0123456789abcdef"), source("a.odd", dtype::u8, {3}, "xyz"),
                     source("scalar", dtype::i64, {}, "87654321"), source("none", dtype::bf16, {4, 0, 2}, ""),
                     source("quote\"\n\xC3\xA9", dtype::boolean, {1}, "\x01")},
                    {{"step", "7"}, {"k\"", "v\n"}});
  const SafetensorsFile file = SafetensorsFile::open(path);
  CHECK(file.tensors().size() == 5);
  CHECK(file.metadata() == std::map<std::string, std::string>{{"step", "7"}, {"k\"", "v\n"}});
  CHECK(bytes_of(file.bytes(file.at("b"))) == "0123456789abcdef");
  CHECK(file.at("b").shape == std::vector<std::int64_t>{2, 2});
  CHECK(bytes_of(file.bytes(file.at("a.odd"))) == "xyz");
  CHECK(bytes_of(file.bytes(file.at("scalar"))) == "87654321");
  CHECK(file.at("scalar").shape.empty());
  CHECK(file.at("none").shape == std::vector<std::int64_t>{4, 0, 2});
  CHECK(file.at("none").bytes == 0);
  CHECK(file.at("quote\"\n\xC3\xA9").dtype == dtype::boolean);
  CHECK(file.find("c") == nullptr);
  CHECK(contains(failure([&] { file.at("c"); }), "there is no tensor 'c'"));
  file.release(file.at("b"));
  CHECK(bytes_of(file.bytes(file.at("b"))) == "0123456789abcdef");
  for (const auto& name : {"b", "scalar"}) {
    const auto address = reinterpret_cast<std::uintptr_t>(file.bytes(file.at(name)).data());
    CHECK(address % 8 == 0);
  }
}

TEST_CASE("equal content gives equal bytes, in whatever order it comes") {
  TempFolder folder;
  const auto one = source("one", dtype::f32, {1}, "1111");
  const auto two = source("two", dtype::f16, {1}, "22");
  const auto six = source("six", dtype::f32, {1}, "6666");
  write_safetensors(folder / "x", {one, two, six}, {{"a", "1"}, {"b", "2"}});
  write_safetensors(folder / "y", {two, six, one}, {{"b", "2"}, {"a", "1"}});
  CHECK(read_file(folder / "x") == read_file(folder / "y"));
  CHECK(read_file(folder / "x").ends_with("1111666622"));
}

TEST_CASE("a tensor is asked for in pieces") {
  TempFolder folder;
  const std::uint64_t count = (20u << 20) / 4;
  std::vector<std::uint64_t> offsets;
  std::size_t largest = 0;
  const auto fill = [&](std::uint64_t offset, std::span<std::byte> to) {
    offsets.push_back(offset);
    largest = std::max(largest, to.size());
    for (std::size_t i = 0; i < to.size(); i += 4) {
      const auto value = static_cast<std::uint32_t>((offset + i) / 4);
      std::memcpy(to.data() + i, &value, 4);
    }
  };
  write_safetensors(folder / "w", {{"big", dtype::i32, {static_cast<std::int64_t>(count)}, fill}});
  CHECK(offsets.size() == 3);
  CHECK(largest == 8u << 20);
  const SafetensorsFile file = SafetensorsFile::open(folder / "w");
  const auto bytes = file.bytes(file.at("big"));
  bool equal = true;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    equal = equal && value == i;
  }
  CHECK(equal);
}

TEST_CASE("files with no tensor, metadata only, and padded headers are valid both ways") {
  TempFolder folder;
  write_safetensors(folder / "none", {});
  CHECK(read_file(folder / "none") == file_of("{}      "));
  CHECK(SafetensorsFile::open(folder / "none").tensors().empty());
  write_safetensors(folder / "meta", {}, {{"k", "v"}});
  CHECK(SafetensorsFile::open(folder / "meta").metadata().at("k") == "v");
  CHECK(parse(file_of("{}")).tensors.empty());
  CHECK(parse(file_of("{}" + std::string(4096, ' '))).data_begin == 8 + 4098);
  CHECK(parse(file_of("{\"__metadata__\":{}}")).metadata.empty());
  const auto two =
      parse(file_of("{" + entry("b", "U8", "[2]", "[1,3]") + "," + entry("a", "U8", "[]", "[0,1]") + "}", "xyz"));
  CHECK(two.tensors[0].name == "a");
  const auto empty_between =
      parse(file_of("{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("e", "F32", "[0]", "[1,1]") + "," +
                        entry("b", "U8", "[1]", "[1,2]") + "}",
                    "xy"));
  CHECK(empty_between.tensors.size() == 3);
}

TEST_CASE("crafted files are refused with file, tensor and reason") {
  const auto one = [](const std::string& shape, const std::string& span, const std::string& data = "12345678") {
    return refusal(file_of("{" + entry("t", "F32", shape, span) + "}", data));
  };
  const std::string code = std::to_string(SY_E_DATA) + " w: ";
  CHECK(one("[2]", "[0,8]") == "");
  CHECK(refusal("") == code + "a safetensors file has at least 8 bytes, this one has 0");
  CHECK(contains(refusal(std::string(8, '\xFF') + "{}"), "the header's length is 18446744073709551615, at most"));
  CHECK(contains(refusal(std::string("\xF8\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8) + "{}"), "at most 100000000"));
  CHECK(contains(refusal(std::string("\x00\xE1\xF5\x05\0\0\0\0", 8) + "{}"), "only 2 bytes follow"));  // 100,000,000
  CHECK(contains(refusal(std::string("\x01\xE1\xF5\x05\0\0\0\0", 8) + "{}"), "at most 100000000"));
  CHECK(contains(refusal(file_of(" {}")), "does not begin with '{'"));
  CHECK(contains(refusal(file_of("")), "does not begin with '{'"));
  CHECK(contains(refusal(file_of("{}x")), "not JSON"));
  CHECK(contains(refusal(file_of("{")), "not JSON"));
  CHECK(contains(refusal(file_of(std::string("{}\0 ", 4))), "NUL"));
  CHECK(contains(refusal(file_of("{\"\xFF\":{}}")), "not JSON"));
  CHECK(one("[2]", "[8,0]") == code + "tensor 't': 'data_offsets' [8, 0] end before they begin");
  CHECK(one("[2]", "[0,16]") == code + "tensor 't': 'data_offsets' [0, 16] pass the end of the data, 8");
  CHECK(one("[2]", "[0,18446744073709551615]").find("pass the end") != std::string::npos);
  CHECK(one("[1]", "[0,8]") == code + "tensor 't': F32 [1] needs 4 bytes, 'data_offsets' [0, 8] give 8");
  CHECK(contains(one("[4294967296,4294967296]", "[0,0]", ""),
                 "tensor 't': the size of F32 [4294967296, 4294967296] passes 2^63"));
  CHECK(contains(one("[4611686018427387904]", "[0,0]", ""), "passes 2^63"));  // times 4 wraps to 0
  CHECK(contains(one("[9223372036854775808]", "[0,8]"), "too large"));
  CHECK(contains(one("[18446744073709551616]", "[0,8]"), "cannot be the number 18446744073709551616"));
  CHECK(contains(one("[-2]", "[0,8]"), "tensor 't': 'shape' cannot be the negative number -2"));
  CHECK(contains(one("[2.0]", "[0,8]"), "cannot be the number 2.0"));
  CHECK(contains(one("2", "[0,8]"), "'shape' cannot be the number 2"));
  CHECK(contains(one("[[2]]", "[0,8]"), "'shape' cannot be a list"));
  CHECK(contains(one("[2]", "[0]"), "'data_offsets' has 1 numbers instead of 2"));
  CHECK(contains(one("[2]", "[0,4,8]"), "'data_offsets' has 3 numbers instead of 2"));
  CHECK(contains(one("[2]", "null"), "cannot be null"));
  CHECK(contains(one("[1]", "[0,4]"), "4 bytes belong to no tensor at the end of the file"));
  CHECK(contains(one("[1]", "[4,8]"), "tensor 't': 4 bytes belong to no tensor before it"));
  CHECK(contains(refusal(file_of("{" + entry("t", "F8", "[8]", "[0,8]") + "}", "12345678")),
                 "tensor 't': unknown type 'F8'"));
  CHECK(contains(refusal(file_of("{" + entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "U8", "[6]", "[2,8]") + "}",
                                 "12345678")),
                 "tensor 'b': overlaps tensor 'a'"));
  CHECK(contains(refusal(file_of("{" + entry("a", "U8", "[4]", "[0,4]") + "," + entry("a", "U8", "[4]", "[4,8]") + "}",
                                 "12345678")),
                 "tensor 'a' stands twice"));
  CHECK(contains(refusal(file_of(R"({"t":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "1")),
                 "tensor 't': the key 'dtype' stands twice"));
  CHECK(contains(refusal(file_of(R"({"t":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", "1")),
                 "stands twice"));
  CHECK(
      contains(refusal(file_of(R"({"t":{"dtype":"U8","shape":[1]}})", "1")), "tensor 't': 'data_offsets' is missing"));
  CHECK(contains(refusal(file_of(R"({"t":{"shape":[1],"data_offsets":[0,1]}})", "1")), "'dtype' is missing"));
  CHECK(contains(refusal(file_of(R"({"t":{"dtype":"U8","data_offsets":[0,1]}})", "1")), "'shape' is missing"));
  CHECK(contains(refusal(file_of(R"({"t":{"dtype":"U8","stride":[1]}})", "1")), "unknown key 'stride'"));
  CHECK(contains(refusal(file_of(R"({"t":[]})")), "cannot be a list"));
  CHECK(contains(refusal(file_of(R"({"t":{"shape":{}}})")), "cannot be an object"));
  CHECK(contains(refusal(file_of(R"({"__metadata__":{"k":1}})")), "__metadata__: 'k' cannot be the number 1"));
  CHECK(contains(refusal(file_of(R"({"__metadata__":{"k":"a","k":"b"}})")), "stands twice"));
  CHECK(contains(refusal(file_of(R"({"__metadata__":{},"__metadata__":{}})")), "stands twice"));
  CHECK(contains(refusal(file_of(R"({"a\nb":{"dtype":"U8"}})")), "tensor 'a\\nb'"));  // one line
}

TEST_CASE("deep nesting does not exhaust the stack") {
  CHECK(contains(refusal(file_of("{\"a\":" + std::string(1000000, '['))), "cannot be a list"));
  CHECK(contains(refusal(file_of("{\"a\":{\"shape\":" + std::string(1000000, '['))), "cannot be a list"));
}

TEST_CASE("mutated headers are refused or describe bytes inside the file") {
  const std::string good =
      file_of("{\"__metadata__\":{\"format\":\"pt\"}," + entry("h.0.w", "F32", "[2,3]", "[0,24]") + "," +
                  entry("h.0.b", "BF16", "[3]", "[24,30]") + "," + entry("n", "I64", "[]", "[30,38]") + "}",
              std::string(38, 'd'));
  REQUIRE(refusal(good) == "");
  std::mt19937 random(1);
  const std::string letters = "{}[]\",:0123456789-.eEuU8F3216\\ntrue\xFF\x80";
  int accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string file = good;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      const std::size_t at = random() % file.size();
      switch (random() % 5) {
        case 0:
          file[at] = static_cast<char>(random());
          break;
        case 1:
          file[at] = letters[random() % letters.size()];
          break;
        case 2:
          file.insert(at, 1, letters[random() % letters.size()]);
          break;
        case 3:
          file.erase(at, 1 + random() % 4);
          break;
        case 4:
          file.insert(at, file.substr(random() % file.size(), random() % 20));
          break;
      }
      if (file.empty()) break;
    }
    if (random() % 2 && file.size() >= 8) {  // a length that fits again, so that the JSON is reached
      const auto end = file.rfind('}');
      const std::uint64_t length = end == file.npos || end < 8 ? 0 : end - 7;
      for (int b = 0; b < 8; ++b) file[b] = static_cast<char>(length >> (8 * b));
    }
    try {
      const SafetensorsHeader header = parse(file);
      ++accepted;
      std::uint64_t end = 0;
      for (const TensorInfo& info : header.tensors) {
        REQUIRE(info.begin == end);
        end += info.bytes;
        REQUIRE(info.bytes == static_cast<std::uint64_t>(byte_count(info.shape, info.dtype).value()));
      }
      REQUIRE(header.data_begin + end == file.size());
    } catch (const Error& error) {
      REQUIRE(error.code() == SY_E_DATA);
      REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  CHECK(accepted > 100);
  CHECK(accepted < 50000);
}

TEST_CASE("the writer refuses what no file can hold") {
  TempFolder folder;
  const auto refused = [&](TensorSource tensor) { return failure([&] { write_safetensors(folder / "w", {tensor}); }); };
  CHECK(contains(refused(source("__metadata__", dtype::u8, {1}, "1")), "__metadata__"));
  CHECK(contains(refused(source("t", sy_dtype{SY_UINT, 4, 1}, {1}, "1")),
                 "tensor 't': a file cannot hold code 1, 4 bits"));
  CHECK(contains(refused(source("t", dtype::u8, {-1}, "1")), "bad shape [-1]"));
  CHECK(contains(refused(source("\xFF", dtype::u8, {1}, "1")), "not UTF-8"));
  const auto t = source("t", dtype::u8, {1}, "1");
  CHECK(contains(failure([&] { write_safetensors(folder / "w", {t, t}); }), "tensor 't' is given twice"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a writing that fails leaves the old file and nothing else") {
  TempFolder folder;
  write_safetensors(folder / "w", {source("t", dtype::u8, {3}, "old")});
  const std::string before = read_file(folder / "w");
  const TensorSource broken{
      "t", dtype::u8, {3}, [](std::uint64_t, std::span<std::byte>) { throw Error(SY_E_DEVICE, "gone"); }};
  CHECK(failure([&] { write_safetensors(folder / "w", {broken}); }) == "67 gone");
  CHECK(read_file(folder / "w") == before);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("opening says what is wrong with the path") {
  TempFolder folder;
  CHECK(contains(failure([&] { SafetensorsFile::open(folder / "no"); }),
                 std::to_string(SY_E_NOT_FOUND) + " cannot open"));
  CHECK(contains(failure([&] { SafetensorsFile::open(folder.path()); }), "not a regular file"));
  write_file(folder / "empty", "");
  CHECK(contains(failure([&] { SafetensorsFile::open(folder / "empty"); }), folder / "empty: a safetensors file has"));
}

// The reference library, where Python has it: it must read our file, and write the same bytes for the same content.
TEST_CASE("the reference library reads and writes the same bytes") {
  const char* chosen = std::getenv("SWITCHYARD_TEST_PYTHON");
  const std::string python = chosen ? chosen : "python3";
  if (std::system((python + " -c 'import safetensors.numpy' 2>/dev/null").c_str()) != 0) {
    std::cout << "[skipped] no Python with safetensors and numpy\n";
    return;
  }
  TempFolder folder;
  write_safetensors(folder / "ours",
                    {source("w", dtype::f32, {2, 1}, "01234567"), source("k", dtype::i64, {}, "87654321"),
                     source("d", dtype::f64, {1}, "aaaaaaaa"), source("i", dtype::i32, {1}, "bbbb"),
                     source("h", dtype::f16, {1}, "hh"), source("s", dtype::i16, {1}, "ss"),
                     source("c", dtype::i8, {1}, "c"), source("u", dtype::u8, {1}, "u"),
                     source("t", dtype::boolean, {1}, "\x01"), source("n\xC3\xA9\"", dtype::f32, {0, 3}, "")},
                    {{"format", "pt"}});
  write_safetensors(folder / "none", {});
  write_safetensors(folder / "meta", {}, {{"k", "v"}});
  write_safetensors(folder / "bf16", {source("b", dtype::bf16, {2}, "bbbb"), source("h", dtype::f16, {1}, "hh")});
  write_file(folder / "check.py", R"(
import sys, safetensors, safetensors.numpy as st
d = sys.argv[1]
with safetensors.safe_open(d + '/ours', 'np') as f:
    tensors = {k: f.get_tensor(k) for k in f.keys()}
    meta = f.metadata()
assert meta == {'format': 'pt'} and len(tensors) == 10
assert tensors['w'].tobytes() == b'01234567' and tensors['w'].shape == (2, 1)
assert tensors['k'].shape == () and tensors['n\u00e9"'].shape == (0, 3)
st.save_file(tensors, d + '/theirs', metadata=meta)
assert open(d + '/ours', 'rb').read() == open(d + '/theirs', 'rb').read()
assert st.load_file(d + '/none') == {}
with safetensors.safe_open(d + '/meta', 'np') as f: assert f.metadata() == {'k': 'v'} and list(f.keys()) == []
with safetensors.safe_open(d + '/bf16', 'np') as f: assert sorted(f.keys()) == ['b', 'h']
st.save_file({}, d + '/empty')
)");
  CHECK(std::system((python + " '" + (folder / "check.py") + "' '" + folder.path() + "'").c_str()) == 0);
  CHECK(SafetensorsFile::open(folder / "empty").tensors().empty());
}
