// The table that plugins are handed.
#include "plugin/host.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>

#include "base/account.hpp"
#include "base/tensor.hpp"

using namespace switchyard;

namespace {
const sy_host& h = *host_table();

struct Taken {
  sy_error* err = nullptr;
  ~Taken() { delete err; }
};
}  // namespace

TEST_CASE("no slot of the host table is empty") {
  CHECK(h.size == sizeof(sy_host));
  CHECK(h.abi_minor == SY_ABI_MINOR);
  CHECK(std::strlen(h.core_version) > 0);
  const auto* words = reinterpret_cast<const void* const*>(&h.fail);
  const auto* end = reinterpret_cast<const void* const*>(&h + 1);
  for (; words != end; ++words) CHECK(*words != nullptr);
  CHECK(h.get(h.self, "sy.host.nothing/1") == nullptr);
  CHECK(host_table() == &h);
}

TEST_CASE("memory is aligned as asked; alignments that are no power of two are refused") {
  for (uint64_t align : {1, 8, 256, 4096}) {
    void* memory = h.alloc(h.self, 10, align);
    REQUIRE(memory != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(memory) % align == 0);
    h.free(h.self, memory);
  }
  CHECK(h.alloc(h.self, 10, 0) == nullptr);
  CHECK(h.alloc(h.self, 10, 24) == nullptr);
  CHECK(h.alloc(h.self, UINT64_MAX, 8) == nullptr);
  h.free(h.self, h.alloc(h.self, 0, 8));
  h.free(h.self, nullptr);
}

TEST_CASE("a charge over the budget names device, amount, use and budget") {
  sy_origin* account = make_account("cpu:3", 1000);
  CHECK(h.charge(h.self, account, 900, nullptr) == SY_OK);
  Taken t;
  CHECK(h.charge(h.self, account, 101, &t.err) == SY_E_NO_MEMORY);
  CHECK(account->live == 900);
  REQUIRE(t.err);
  const std::string text = t.err->error.what();
  for (const char* part : {"cpu:3", "101 bytes", "900 bytes", "1000 bytes"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(*t.err->error.note("device") == "cpu:3");
  CHECK(*t.err->error.note("budget_bytes") == "1000");
  CHECK(h.charge(h.self, account, -900, nullptr) == SY_OK);
  CHECK(h.charge(h.self, nullptr, 1, nullptr) == SY_E_ARGUMENT);
}

TEST_CASE("tensors of plugins: counted, and the owner is taken also on error") {
  static int drops = 0;
  const auto drop = [](void*) { ++drops; };
  float data[4];
  int64_t shape[] = {4}, negative[] = {-4};
  sy_view view{data, {SY_DEVICE_CPU, 0}, 1, {SY_FLOAT, 32, 1}, shape, nullptr, 0};
  sy_tensor* t = nullptr;
  REQUIRE(h.tensor_wrap(h.self, &view, nullptr, drop, &t, nullptr) == SY_OK);
  CHECK(h.tensor_view(t)->data == data);
  h.tensor_keep(t);
  h.tensor_drop(t);
  CHECK(drops == 0);
  h.tensor_drop(t);
  CHECK(drops == 1);

  sy_tensor* untouched = nullptr;
  view.shape = negative;
  Taken e;
  CHECK(h.tensor_wrap(h.self, &view, nullptr, drop, &untouched, &e.err) == SY_E_ARGUMENT);
  CHECK(drops == 2);
  CHECK(h.tensor_wrap(h.self, nullptr, nullptr, drop, &untouched, nullptr) == SY_E_ARGUMENT);
  CHECK(drops == 3);
  CHECK(h.tensor_wrap(h.self, &view, nullptr, nullptr, nullptr, nullptr) == SY_E_ARGUMENT);
  CHECK(untouched == nullptr);
}

TEST_CASE("NULL is never followed") {
  h.note(h.self, nullptr, "key", "value");
  h.tensor_keep(nullptr);
  h.tensor_drop(nullptr);
  CHECK(h.tensor_view(nullptr) == nullptr);
  h.text_add(nullptr, "x");
  sy_text text;
  h.text_add(&text, nullptr);
  h.text_add(&text, "bound by ");
  h.text_add(&text, "memory");
  CHECK(text.text == "bound by memory");
  Taken e;
  CHECK(h.fail(h.self, &e.err, SY_E_DATA, nullptr) == SY_E_DATA);
  h.note(h.self, e.err, nullptr, "value");
  h.note(h.self, e.err, "key", nullptr);
  CHECK(e.err->error.notes().empty());
}
