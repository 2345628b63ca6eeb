// SPDX-License-Identifier: Apache-2.0
// A DataPattern's data as made and checked: blocks of it on the host, single elements anywhere.
#pragma once

#include "collectives/native/exact_data.h"
#include "collectives/native/random_data.h"

namespace railgauge {

// Calls visit with the pattern's data, an ExactData<T> or RandomData<T>, and a T.
template <class T, class Visit>
void with_kind(const DataPattern& pattern, Visit visit) {
  if (pattern.kind == PatternKind::kExact) {
    visit(ExactData<T>(pattern), T{});
  } else {
    visit(RandomData<T>(pattern), T{});
  }
}

template <class Visit>
void with_data(const DataPattern& pattern, Visit visit) {
  switch (pattern.dtype) {
    case Dtype::kFloat16:
      return with_kind<Float16>(pattern, visit);
    case Dtype::kBfloat16:
      return with_kind<Bfloat16>(pattern, visit);
    case Dtype::kFloat32:
      return with_kind<float>(pattern, visit);
    case Dtype::kFloat64:
      return with_kind<double>(pattern, visit);
    case Dtype::kInt8:
      return with_kind<std::int8_t>(pattern, visit);
    case Dtype::kUint8:
      return with_kind<std::uint8_t>(pattern, visit);
    case Dtype::kInt32:
      return with_kind<std::int32_t>(pattern, visit);
    case Dtype::kUint32:
      return with_kind<std::uint32_t>(pattern, visit);
    case Dtype::kInt64:
      return with_kind<std::int64_t>(pattern, visit);
    case Dtype::kUint64:
      return with_kind<std::uint64_t>(pattern, visit);
    case Dtype::kFloat8E4m3:
      return with_kind<Float8E4m3>(pattern, visit);
    case Dtype::kFloat8E5m2:
      return with_kind<Float8E5m2>(pattern, visit);
    case Dtype::kInt16:
    case Dtype::kUint16:
      return;  // not of all devices
  }
}

// Whether one element is what every rank's input, or the reduction over all of them, has there.
template <class T>
constexpr bool same_bits(T a, T b) {
  using Bits = UnsignedOf<sizeof(T)>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}
template <class Data, class T>
constexpr bool is_copied(const Data& data, int rank, std::uint64_t index, T got) {
  return same_bits(data.input(rank, index), got);
}
template <class Data, class T>
constexpr bool is_reduced(const Data& data, std::uint64_t index, T got) {
  if constexpr (requires { data.reference(index); }) {
    if (data.bounded()) return data.reference(index).allows(value_of(got));
  }
  return same_bits(data.reduced(index), got);
}

}  // namespace railgauge
