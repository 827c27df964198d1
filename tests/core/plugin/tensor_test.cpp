#include "base/tensor.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "base/error.hpp"

using namespace switchyard;

namespace {

constexpr sy_dtype f32{SY_FLOAT, 32, 1};

struct Owner {
  std::atomic<int> drops{0};
  static void drop(void* self) { ++static_cast<Owner*>(self)->drops; }
};

sy_view view_of(float* data, int32_t ndim, int64_t* shape, int64_t* strides = nullptr) {
  return {data, {SY_DEVICE_CPU, 0}, ndim, f32, shape, strides, 0};
}

}  // namespace

TEST_CASE("the owner is dropped once, after the last use") {
  Owner owner;
  float data[6];
  int64_t shape[] = {2, 3};
  {
    const Tensor first = Tensor::adopt(wrap_tensor(view_of(data, 2, shape), &owner, Owner::drop));
    Tensor second = first;
    const Tensor third = std::move(second);
    CHECK_FALSE(second);
    CHECK(first.get()->count == 2);
    Tensor raw = Tensor::keep(third.get());
    CHECK(first.get()->count == 3);
    drop_tensor(raw.release());
    CHECK(owner.drops == 0);
  }
  CHECK(owner.drops == 1);
  drop_tensor(nullptr);
}

TEST_CASE("threads that keep and drop agree on the last one") {
  Owner owner;
  float data[1];
  sy_tensor* t = wrap_tensor(view_of(data, 0, nullptr), &owner, Owner::drop);
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([mine = Tensor::keep(t)] {
      for (int k = 0; k < 20000; ++k) Tensor copy = mine;
    });
  drop_tensor(t);
  for (std::thread& thread : all) thread.join();
  all.clear();
  CHECK(owner.drops == 1);
}

TEST_CASE("a tensor copies shape and strides; missing strides mean contiguous") {
  float data[24];
  int64_t shape[] = {2, 3, 4};
  const Tensor t = Tensor::adopt(wrap_tensor(view_of(data, 3, shape), nullptr, nullptr));
  shape[0] = 99;
  CHECK(shape_of(t.view()) == Shape{2, 3, 4});
  CHECK(Shape(t.view().strides, t.view().strides + 3) == Shape{12, 4, 1});
  CHECK(element_count(t.view()) == 24);
  CHECK(byte_count(t.view()) == 96);
  CHECK(is_contiguous(t.view()));
}

TEST_CASE("views of other orders are not contiguous, except where it cannot be seen") {
  float data[24];
  int64_t shape[] = {2, 3}, turned[] = {1, 2}, one_row[] = {1, 3}, odd[] = {77, 1}, none[] = {0, 3};
  CHECK_FALSE(is_contiguous(view_of(data, 2, shape, turned)));
  CHECK(is_contiguous(view_of(data, 2, one_row, odd)));
  CHECK(is_contiguous(view_of(data, 2, none, turned)));
}

TEST_CASE("a view that cannot be is refused, and its owner dropped") {
  float data[1];
  int64_t negative[] = {2, -1}, huge[] = {int64_t{1} << 40, int64_t{1} << 40},
          hidden[] = {0, int64_t{1} << 40, int64_t{1} << 40};
  int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (const sy_view& v : {view_of(data, 2, negative), view_of(data, 2, huge), view_of(data, 3, hidden),
                           view_of(data, 9, nine), view_of(data, -1, nine), view_of(data, 1, nullptr)}) {
    Owner owner;
    CHECK_THROWS_AS(wrap_tensor(v, &owner, Owner::drop), Error);
    CHECK(owner.drops == 1);
  }
}

TEST_CASE("an owned view carries its own shape") {
  float data[6];
  OwnedView a(data, {SY_DEVICE_CPU, 1}, f32, {2, 3});
  OwnedView b = a;
  a = OwnedView();
  CHECK(shape_of(b.get()) == Shape{2, 3});
  CHECK(Shape(b.get().strides, b.get().strides + 2) == Shape{3, 1});
  CHECK(data_of(b.get()) == reinterpret_cast<char*>(data));
}
