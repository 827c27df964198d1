#include "data/table.hpp"

#include <doctest/doctest.h>

#include "../store/temp_folder.hpp"
#include "base/error.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

/// A table on the disk.
struct File {
  TempFolder folder;
  std::string path = folder / "t.csv";
  explicit File(const std::string& text) { write_file(path, text); }
  Table read(const std::string& target, std::optional<TargetKind> kind = {}) const {
    return read_table(path, {target, kind, -100, nullptr, nullptr});
  }
  std::string refusal(const std::string& target, std::optional<TargetKind> kind = {}) const {
    return failure([&] { read(target, kind); });
  }
  std::string refused(sy_rc code, const std::string& place) const {
    return std::to_string(code) + " " + path + ":" + place + ": ";
  }
};

Batch all_of(const Table& table) {
  Batch batch;
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < table.rows->count; ++i) samples.push_back(i);
  make_row_source(table.rows, 0, table.rows->count)->fill(samples, batch);
  return batch;
}

template <class T>
std::vector<T> cells(const HostTensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

}  // namespace

TEST_CASE("numbers beside a column of class names") {
  const File file("len,kind,wid\n5.1,setosa,3.5\n-4.9e0,\"iris, b\", +.5 \n1,setosa,0\n");
  const Table table = file.read("kind");
  CHECK(table.columns == std::vector<std::string>{"len", "kind", "wid"});
  CHECK(table.rows->targets.kind == TargetKind::classes);
  CHECK(table.rows->targets.class_names == std::vector<std::string>{"iris, b", "setosa"});  // sorted
  CHECK(table.rows->targets.id_limit == 2);
  const Batch batch = all_of(table);
  CHECK(batch.inputs.shape() == std::vector<std::int64_t>{3, 2});
  CHECK(batch.targets.shape() == std::vector<std::int64_t>{3});
  CHECK(cells<float>(batch.inputs) == std::vector<float>{5.1f, 3.5f, -4.9f, 0.5f, 1, 0});
  CHECK(cells<std::int64_t>(batch.targets) == std::vector<std::int64_t>{1, 0, 1});
}

TEST_CASE("a column of numbers is a value, or class ids where the loss wants classes") {
  const File file("x,y\n1,2\n2,0\n3,2\n");
  const Batch numbers = all_of(file.read("y"));
  CHECK(numbers.targets.shape() == std::vector<std::int64_t>{3, 1});
  CHECK(cells<float>(numbers.targets) == std::vector<float>{2, 0, 2});
  const Table classes = file.read("y", TargetKind::classes);
  CHECK(classes.rows->targets.id_limit == 3);
  CHECK(cells<std::int64_t>(all_of(classes).targets) == std::vector<std::int64_t>{2, 0, 2});
  CHECK(File("x,y\n1,-100\n2,1\n").read("y", TargetKind::classes).rows->targets.id_limit == 2);
}

TEST_CASE("a field that is no number is refused with file, line and column") {
  const File file("x,y,z\n1,2,3\n4,abc,6\n");
  CHECK(file.refusal("z") == file.refused(SY_E_DATA, "3:3") + "column 'y' holds 'abc', a finite number is wanted");
  CHECK(contains(File("x,y\n,1\n").refusal("y"), "column 'x' holds ''"));
  for (const char* bad : {"nan", "inf", "1e99", "0x10", "1 2", "1,5", "--1"})
    CHECK(contains(File(std::string("x,y\n\"") + bad + "\",1\n").refusal("y"), "a finite number is wanted"));
  CHECK(contains(File("x,y\n1,a\n").refusal("y", TargetKind::values),
                 ":2:3: column 'y' holds 'a', the loss wants a finite"));
  CHECK(contains(File("x,y\n1,0.5\n").refusal("y", TargetKind::classes),
                 ":2:3: column 'y' holds '0.5', the loss wants class ids"));
  CHECK(contains(File("x,y\n1,-1\n").refusal("y", TargetKind::classes), "holds '-1'"));
  CHECK(contains(File("x,y\n1,1e30\n").refusal("y", TargetKind::classes), "holds '1e30'"));
}

TEST_CASE("headers are checked") {
  const File file("x,y\n1,2\n");
  CHECK(file.refusal("z") ==
        file.refused(SY_E_CONFIG, "1:1") + "there is no column 'z' for data.target; the columns are 'x', 'y'");
  CHECK(contains(File("x,y,x\n").refusal("y"), ":1:5: column 'x' stands twice"));
  CHECK(contains(File("").refusal("y"), "the table is empty"));
  CHECK(contains(File("y\n1\n").refusal("y"), "no column besides the target"));
  CHECK(contains(File("x,y\n1\n").refusal("y"), ":2:1: this line has 1 fields, the header has 2"));
}

TEST_CASE("a validation table has the columns and classes of training") {
  const File file("x,y\n1,b\n2,a\n");
  const std::vector<std::string> columns = {"x", "y"}, reversed = {"y", "x"}, classes = {"a", "b", "c"}, fewer = {"b"};
  const auto read = [&](const std::vector<std::string>& wanted, const std::vector<std::string>& known) {
    return read_table(file.path, {"y", TargetKind::classes, -100, &wanted, &known});
  };
  CHECK(cells<std::int64_t>(all_of(read(columns, classes)).targets) == std::vector<std::int64_t>{1, 0});
  CHECK(read(columns, classes).rows->targets.id_limit == 3);
  CHECK(contains(failure([&] { read(reversed, classes); }), "the columns are 'x', 'y', in training they are 'y', 'x'"));
  CHECK(
      contains(failure([&] { read(columns, fewer); }), ":3:3: class 'a' is not in the training table, which has 'b'"));
  const File numbers("x,y\n1,7\n");
  CHECK(contains(failure([&] {
                   read_table(numbers.path, {"y", TargetKind::classes, -100, &columns, &classes});
                 }),
                 "class '7' is not in the training table"));
}
