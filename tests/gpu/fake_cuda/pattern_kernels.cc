// SPDX-License-Identifier: Apache-2.0
// The kernels that make and check data (kernels/patterns.cu), element by element.
#include "collectives/native/kernels/wrong.h"
#include "collectives/native/pattern_data.h"
#include "kernels.h"

namespace railgauge::gpu {

namespace {

using cuda::parameter;

template <class IsRight>
void look(std::size_t count, Wrong* wrong, IsRight is_right) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_right(i) && !wrong->count++) wrong->first = i;
  }
}

template <class Data, class T>
void add(const std::string& name) {
  cuda::add_kernel("fill_" + name, [](auto, void** p) {
    return [data = parameter<Data>(p, 0), rank = parameter<int>(p, 1), to = parameter<T*>(p, 2),
            count = parameter<std::size_t>(p, 3), first = parameter<std::uint64_t>(p, 4)] {
      for (std::size_t i = 0; i < count; ++i) to[i] = data.input(rank, first + i);
    };
  });
  cuda::add_kernel("check_copied_" + name, [](auto, void** p) {
    return [data = parameter<Data>(p, 0), rank = parameter<int>(p, 1), from = parameter<T*>(p, 2),
            count = parameter<std::size_t>(p, 3), first = parameter<std::uint64_t>(p, 4),
            wrong = parameter<Wrong*>(p, 5)] {
      look(count, wrong, [&](auto i) { return is_copied(data, rank, first + i, from[i]); });
    };
  });
  cuda::add_kernel("check_reduced_" + name, [](auto, void** p) {
    return [data = parameter<Data>(p, 0), from = parameter<T*>(p, 1),
            count = parameter<std::size_t>(p, 2), first = parameter<std::uint64_t>(p, 3),
            wrong = parameter<Wrong*>(p, 4)] {
      look(count, wrong, [&](auto i) { return is_reduced(data, first + i, from[i]); });
    };
  });
}

template <class T>
void add_both(Dtype dtype) {
  add<ExactData<T>, T>(std::string("exact_") + dtype_name(dtype));
  add<RandomData<T>, T>(std::string("random_") + dtype_name(dtype));
}

const bool kAdded = [] {
  add_both<Float16>(Dtype::kFloat16);
  add_both<Bfloat16>(Dtype::kBfloat16);
  add_both<float>(Dtype::kFloat32);
  add_both<double>(Dtype::kFloat64);
  add_both<std::int8_t>(Dtype::kInt8);
  add_both<std::uint8_t>(Dtype::kUint8);
  add_both<std::int32_t>(Dtype::kInt32);
  add_both<std::uint32_t>(Dtype::kUint32);
  add_both<std::int64_t>(Dtype::kInt64);
  add_both<std::uint64_t>(Dtype::kUint64);
  add_both<Float8E4m3>(Dtype::kFloat8E4m3);
  add_both<Float8E5m2>(Dtype::kFloat8E5m2);
  return true;
}();

}  // namespace

}  // namespace railgauge::gpu
