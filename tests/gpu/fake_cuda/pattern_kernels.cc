// SPDX-License-Identifier: Apache-2.0
// The kernels of collectives/native/kernels/patterns.cu, one element after the other.
#include <string>

#include "collectives/native/kernels/wrong.h"
#include "collectives/native/pattern_data.h"
#include "kernels.h"

namespace railgauge::gpu {

namespace {

using cuda::parameter;

void look(std::size_t count, Wrong* result, const auto& is_right) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_right(i) && result->count++ == 0) result->first = i;
  }
}

template <class T, class Data>
void add(const std::string& name, const Data&) {
  cuda::add_kernel("fill_" + name, [](auto, void** all) {
    return
        [data = parameter<Data>(all, 0), rank = parameter<int>(all, 1), to = parameter<T*>(all, 2),
         count = parameter<std::size_t>(all, 3), first = parameter<std::uint64_t>(all, 4)] {
          for (std::size_t i = 0; i < count; ++i) to[i] = data.input(rank, first + i);
        };
  });
  cuda::add_kernel("check_copied_" + name, [](auto, void** all) {
    return [data = parameter<Data>(all, 0), rank = parameter<int>(all, 1),
            from = parameter<const T*>(all, 2), count = parameter<std::size_t>(all, 3),
            first = parameter<std::uint64_t>(all, 4), wrong = parameter<Wrong*>(all, 5)] {
      look(count, wrong, [&](std::size_t i) { return is_copied(data, rank, first + i, from[i]); });
    };
  });
  cuda::add_kernel("check_reduced_" + name, [](auto, void** all) {
    return [data = parameter<Data>(all, 0), from = parameter<const T*>(all, 1),
            count = parameter<std::size_t>(all, 2), first = parameter<std::uint64_t>(all, 3),
            wrong = parameter<Wrong*>(all, 4)] {
      look(count, wrong, [&](std::size_t i) { return is_reduced(data, first + i, from[i]); });
    };
  });
}

const bool kAdded = [] {
  for (int dtype = 0; dtype < kDtypes; ++dtype) {
    for (const PatternKind kind : {PatternKind::kExact, PatternKind::kRandom}) {
      const DataPattern pattern{1, static_cast<Dtype>(dtype), Redop::kSum, 0, kind};
      const std::string name = kind == PatternKind::kExact ? "exact_" : "random_";
      with_data(pattern,
                [&]<class T>(const auto& data, T) { add<T>(name + kDtypeNames[dtype], data); });
    }
  }
  return true;
}();

}  // namespace

}  // namespace railgauge::gpu
