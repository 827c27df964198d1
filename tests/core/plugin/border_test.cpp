// Errors and exceptions on their way over the border.
#include <doctest/doctest.h>

#include <memory>
#include <new>
#include <stdexcept>

#include "plugin/code_name.hpp"
#include "plugin/host.hpp"

using namespace switchyard;

namespace {

/// The error that a plugin call ends in.
Error error_of(const std::function<sy_rc(sy_error**)>& call) {
  try {
    call_plugin(call);
  } catch (const Error& e) {
    return e;
  }
  return Error(SY_OK, "none");
}

Error guarded(const std::function<void()>& body) {
  sy_error* err = nullptr;
  const sy_rc code = guard(&err, body);
  const std::unique_ptr<sy_error> owned(err);
  if (code == SY_OK) {
    CHECK(err == nullptr);
    return Error(SY_OK, "none");
  }
  REQUIRE(err != nullptr);
  CHECK(err->error.code() == code);
  return err->error;
}

}  // namespace

TEST_CASE("every code has a name and a text; other numbers have none") {
  for (sy_rc code : {SY_OK, SY_E_CANCELLED, SY_E_AGAIN, SY_E_ABI, SY_E_COMM}) CHECK(code_name(code) != nullptr);
  CHECK(std::string(code_name(SY_E_CONFIG)) == "SY_E_CONFIG");
  CHECK(code_text(SY_E_INFEASIBLE) != nullptr);
  for (sy_rc code : {-1, 16, 63, 70, 4711}) CHECK(code_name(code) == nullptr);
}

TEST_CASE("guard turns every exception into a code and a text") {
  CHECK(guarded([] {}).code() == SY_OK);
  const Error ours = guarded([] { throw Error(SY_E_CONFIG, "no such key").note("layer", "h.3"); });
  CHECK(ours.code() == SY_E_CONFIG);
  CHECK(*ours.note("layer") == "h.3");
  CHECK(guarded([] { throw std::bad_alloc(); }).code() == SY_E_NO_MEMORY);
  CHECK(std::string(guarded([] { throw std::runtime_error("broken"); }).what()) == "broken");
  CHECK(guarded([] { throw 42; }).code() == SY_E_UNKNOWN);
}

TEST_CASE("guard works without a place for the error, and keeps the first error") {
  CHECK(guard(nullptr, [] { throw 42; }) == SY_E_UNKNOWN);
  sy_error* err = nullptr;
  guard(&err, [] { throw Error(SY_E_DATA, "first"); });
  CHECK(guard(&err, [] { throw Error(SY_E_STATE, "second"); }) == SY_E_STATE);
  CHECK(std::string(err->error.what()) == "first");
  delete err;
}

TEST_CASE("a plugin's error keeps code, text and facts") {
  const sy_host* h = host_table();
  const Error e = error_of([&](sy_error** err) {
    const sy_rc code = h->fail(h->self, err, SY_E_DATA, "row 7 is empty");
    h->note(h->self, *err, "row", "7");
    h->note(h->self, *err, "row", "8");
    return code;
  });
  CHECK(e.code() == SY_E_DATA);
  CHECK(std::string(e.what()) == "row 7 is empty");
  CHECK(*e.note("row") == "7");
}

TEST_CASE("a code without a text, and a code that does not exist, are named") {
  CHECK(std::string(error_of([](sy_error**) { return SY_E_STATE; }).what()).find("SY_E_STATE") != std::string::npos);
  for (sy_rc code : {4711, -3}) {
    const Error e = error_of([&](sy_error**) { return code; });
    CHECK(e.code() == SY_E_INTERNAL);
    CHECK(std::string(e.what()).find(std::to_string(code)) != std::string::npos);
  }
  const sy_host* h = host_table();
  const Error both = error_of([&](sy_error** err) { return h->fail(h->self, err, 4711, "the text"); });
  CHECK(std::string(both.what()).find("the text") != std::string::npos);
}

TEST_CASE("exceptions that a plugin lets out become errors") {
  CHECK(std::string(error_of([](sy_error**) -> sy_rc { throw std::runtime_error("oops"); }).what()).find("oops") !=
        std::string::npos);
  CHECK(error_of([](sy_error**) -> sy_rc { throw 42; }).code() == SY_E_UNKNOWN);
  CHECK(error_of([](sy_error**) -> sy_rc { throw Error(SY_E_INFEASIBLE, "from a callback"); }).code() ==
        SY_E_INFEASIBLE);
}

TEST_CASE("an error beside success is dropped; an error is never a success") {
  const sy_host* h = host_table();
  CHECK(error_of([&](sy_error** err) {
          h->fail(h->self, err, SY_E_DATA, "handled");
          return SY_OK;
        }).code() == SY_OK);
  CHECK(h->fail(h->self, nullptr, SY_OK, nullptr) == SY_E_INTERNAL);
}

TEST_CASE("bytes that are no UTF-8 do not cross") {
  const sy_host* h = host_table();
  sy_error* err = nullptr;
  h->fail(h->self, &err, SY_E_DATA, "caf\xe9 \xc3\xa9 \xff");
  h->note(h->self, err, "key\xfe", "\xe2\x82");
  REQUIRE(err);
  CHECK(std::string(err->error.what()) == "caf\xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd");
  REQUIRE(err->error.note("key\xef\xbf\xbd"));
  CHECK(*err->error.note("key\xef\xbf\xbd") == "\xef\xbf\xbd");
  delete err;
}
