// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/scale.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "collectives/native/reduce.h"
#include "collectives/native/reduced_float.h"
#include "transports/native/error.h"

namespace railgauge {

namespace {

constexpr std::size_t kBlock = 4096;  // elements, which stay in the first cache with the factors

template <class T>
void put(std::byte* to, double factor) {
  T value;
  if constexpr (kIsReduced<T>) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(factor));
    value.bits = static_cast<decltype(value.bits)>(T::narrow(bits));
  } else {
    value = static_cast<T>(factor);
  }
  std::memcpy(to, &value, sizeof value);
}

void put(std::byte* to, Dtype dtype, double factor) {
  switch (dtype) {
    case Dtype::kFloat16:
      return put<Float16>(to, factor);
    case Dtype::kBfloat16:
      return put<Bfloat16>(to, factor);
    case Dtype::kFloat32:
      return put<float>(to, factor);
    case Dtype::kFloat64:
      return put<double>(to, factor);
    case Dtype::kInt8:
      return put<std::int8_t>(to, factor);
    case Dtype::kUint8:
      return put<std::uint8_t>(to, factor);
    case Dtype::kInt16:
      return put<std::int16_t>(to, factor);
    case Dtype::kUint16:
      return put<std::uint16_t>(to, factor);
    case Dtype::kInt32:
      return put<std::int32_t>(to, factor);
    case Dtype::kUint32:
      return put<std::uint32_t>(to, factor);
    case Dtype::kInt64:
      return put<std::int64_t>(to, factor);
    case Dtype::kUint64:
      return put<std::uint64_t>(to, factor);
    case Dtype::kFloat8E4m3:
      return put<Float8E4m3>(to, factor);
    case Dtype::kFloat8E5m2:
      return put<Float8E5m2>(to, factor);
  }
}

}  // namespace

bool fits(Dtype dtype, double factor) {
  const bool is_signed = dtype == Dtype::kInt8 || dtype == Dtype::kInt16 ||
                         dtype == Dtype::kInt32 || dtype == Dtype::kInt64;
  const double above = std::ldexp(1, static_cast<int>(8 * dtype_bytes(dtype)) - is_signed);
  return factor == std::trunc(factor) && factor < above && factor >= (is_signed ? -above : 0);
}

void scale(void* out, const void* in, std::size_t count, Dtype dtype, double factor) {
  const std::size_t element = dtype_bytes(dtype);
  std::vector<std::byte> factors(std::min(count, kBlock) * element);
  for (std::size_t at = 0; at < factors.size(); at += element) {
    put(factors.data() + at, dtype, factor);
  }
  const CombineAll multiply = combine_all(dtype, Redop::kProd);
  for (std::size_t at = 0; at < count; at += kBlock) {
    const void* inputs[] = {static_cast<const std::byte*>(in) + at * element, factors.data()};
    multiply(static_cast<std::byte*>(out) + at * element, nullptr, inputs, 2,
             std::min(kBlock, count - at), 0, false);
  }
}

}  // namespace railgauge
