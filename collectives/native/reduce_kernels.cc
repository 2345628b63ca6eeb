// SPDX-License-Identifier: Apache-2.0
// The reduction kernels, compiled once per instruction set (CMakeLists.txt), with RAILGAUGE_ISA as
// the namespace of the result. All templates live in an anonymous namespace, so that the linker
// cannot merge the builds.
#include <iterator>
#include <type_traits>

#include "collectives/native/reduce.h"
#include "collectives/native/reduce_table.h"
#include "collectives/native/simd.h"

namespace railgauge {
namespace {

template <class V>
using ElementOf = std::remove_cvref_t<decltype(V{}[0])>;

// Integer sums and products wrap, as they do on a GPU; they are done unsigned because signed
// overflow has no meaning in C++.
template <class V>
auto wrapping(V x) {
  if constexpr (std::is_integral_v<ElementOf<V>>) {
    using Unsigned = std::make_unsigned_t<ElementOf<V>>;
    return std::bit_cast<typename VectorOf<Unsigned, sizeof(V)>::type>(x);
  } else {
    return x;
  }
}

struct HostSum {
  template <class V>
  static V apply(V a, V b) {
    return std::bit_cast<V>(wrapping(a) + wrapping(b));
  }
};
struct HostProd {
  template <class V>
  static V apply(V a, V b) {
    return std::bit_cast<V>(wrapping(a) * wrapping(b));
  }
};
struct HostMin {
  template <class V>
  static V apply(V a, V b) {
    return (b < a) | (a != a) ? b : a;
  }
};
struct HostMax {
  template <class V>
  static V apply(V a, V b) {
    return (b > a) | (a != a) ? b : a;
  }
};

// Of integers.
struct HostBitAnd {
  template <class V>
  static V apply(V a, V b) {
    return a & b;
  }
};
struct HostBitOr {
  template <class V>
  static V apply(V a, V b) {
    return a | b;
  }
};
struct HostBitXor {
  template <class V>
  static V apply(V a, V b) {
    return a ^ b;
  }
};

// Integers are divided as floats so wide that rounding the quotient toward zero gives the integer
// one: where that is not exact, it is further from the next integer than the division's rounding
// error. For 64-bit integers there is no such float, and no processor divides vectors of them.
template <class T>
using Dividend = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 8,
                                    std::conditional_t<sizeof(T) == 1, float, double>, T>;

template <class V>
V quotient(V x, int divisor) {
  using Element = ElementOf<V>;
  auto by = static_cast<Dividend<Element>>(divisor);
  if constexpr (std::is_same_v<Dividend<Element>, Element>) return x / by;
  Element elements[sizeof(V) / sizeof(Element)];
  store(elements, x);
  for (Element& e : elements) e = static_cast<Element>(static_cast<Dividend<Element>>(e) / by);
  return load<V>(elements);
}

template <class Op, class Values>
void accumulate(Values& a, const Values& b) {
  for (std::size_t p = 0; p < std::size(a.part); ++p) a.part[p] = Op::apply(a.part[p], b.part[p]);
}
template <class Values>
void divide(Values& a, int divisor) {
  for (auto& part : a.part) part = quotient(part, divisor);
}

template <class T>
struct HostArguments {
  T* out;
  T* also;
  const T* const* inputs;
  int n;
  int divisor;
  bool stream;
};

template <class T>
constexpr std::size_t kCount = sizeof(typename Simd<T>::Register) / sizeof(T);

// kUnroll registers' worth of elements from `at` on: each input is read once, each output written
// once, and nothing is written before all is read.
template <class T, class Op, int kUnroll>
[[gnu::always_inline]] inline void combine_tile(const HostArguments<T>& a, std::size_t at) {
  using L = Simd<T>;
  auto values = [&](int k, int u) {
    return L::widen(load<typename L::Register>(a.inputs[k] + at + u * kCount<T>));
  };
  typename L::Values x[kUnroll];
  for (int u = 0; u < kUnroll; ++u) x[u] = values(0, u);
  for (int k = 1; k < a.n; ++k) {
    for (int u = 0; u < kUnroll; ++u) accumulate<Op>(x[u], values(k, u));
  }
  if (a.divisor) {
    for (int u = 0; u < kUnroll; ++u) divide(x[u], a.divisor);
  }
  typename L::Register result[kUnroll];
  for (int u = 0; u < kUnroll; ++u) result[u] = L::narrow(x[u]);
  if (a.also) {
    for (int u = 0; u < kUnroll; ++u) store(a.also + at + u * kCount<T>, result[u]);
  }
  if (a.stream) {
    for (int u = 0; u < kUnroll; ++u) stream(a.out + at + u * kCount<T>, result[u]);
  } else {
    for (int u = 0; u < kUnroll; ++u) store(a.out + at + u * kCount<T>, result[u]);
  }
}

// Less than a register's worth.
template <class T, class Op>
void combine_part(const HostArguments<T>& a, std::size_t at, std::size_t count) {
  using L = Simd<T>;
  std::size_t bytes = count * sizeof(T);
  auto values = [&](int k) {
    return L::widen(load_part<typename L::Register>(a.inputs[k] + at, bytes));
  };
  auto x = values(0);
  for (int k = 1; k < a.n; ++k) accumulate<Op>(x, values(k));
  if (a.divisor) divide(x, a.divisor);
  store_part(a.out + at, L::narrow(x), bytes);
  if (a.also) store_part(a.also + at, L::narrow(x), bytes);
}

// How many elements come before the first that starts a register in memory.
template <class T>
std::size_t unaligned(const T* data) {
  constexpr std::size_t kBytes = kCount<T> * sizeof(T);
  return (kBytes - reinterpret_cast<std::uintptr_t>(data) % kBytes) % kBytes / sizeof(T);
}

template <class T, class Op>
void combine(void* out, void* also, const void* const* inputs, int n, std::size_t count,
             int divisor, bool stream) {
  constexpr int kUnroll = 4 / std::extent_v<decltype(Simd<T>::Values::part)>;
  HostArguments<T> a{static_cast<T*>(out),
                     static_cast<T*>(also),
                     reinterpret_cast<const T* const*>(inputs),
                     n,
                     divisor,
                     stream};
  std::size_t at = 0;
  if (stream) {
    at = unaligned(a.out) < count ? unaligned(a.out) : count;
    if (at > 0) combine_part<T, Op>(a, 0, at);
  }
  for (; count - at >= kUnroll * kCount<T>; at += kUnroll * kCount<T>) {
    combine_tile<T, Op, kUnroll>(a, at);
  }
  for (; count - at >= kCount<T>; at += kCount<T>) combine_tile<T, Op, 1>(a, at);
  if (at < count) combine_part<T, Op>(a, at, count - at);
}

template <class T>
void add_dtype(ReduceTable& table, Dtype dtype) {
  CombineAll* row = table.combine[static_cast<int>(dtype)];
  row[static_cast<int>(Redop::kSum)] = combine<T, HostSum>;
  row[static_cast<int>(Redop::kProd)] = combine<T, HostProd>;
  row[static_cast<int>(Redop::kMin)] = combine<T, HostMin>;
  row[static_cast<int>(Redop::kMax)] = combine<T, HostMax>;
  row[static_cast<int>(Redop::kAvg)] = combine<T, HostSum>;
  if constexpr (std::is_integral_v<T>) {
    row[static_cast<int>(Redop::kBitAnd)] = combine<T, HostBitAnd>;
    row[static_cast<int>(Redop::kBitOr)] = combine<T, HostBitOr>;
    row[static_cast<int>(Redop::kBitXor)] = combine<T, HostBitXor>;
  }
}

}  // namespace

namespace RAILGAUGE_ISA {

void fill(ReduceTable& table) {
  add_dtype<Float16>(table, Dtype::kFloat16);
  add_dtype<Bfloat16>(table, Dtype::kBfloat16);
  add_dtype<float>(table, Dtype::kFloat32);
  add_dtype<double>(table, Dtype::kFloat64);
  add_dtype<std::int8_t>(table, Dtype::kInt8);
  add_dtype<std::uint8_t>(table, Dtype::kUint8);
  add_dtype<std::int32_t>(table, Dtype::kInt32);
  add_dtype<std::uint32_t>(table, Dtype::kUint32);
  add_dtype<std::int64_t>(table, Dtype::kInt64);
  add_dtype<std::uint64_t>(table, Dtype::kUint64);
  add_dtype<Float8E4m3>(table, Dtype::kFloat8E4m3);
  add_dtype<Float8E5m2>(table, Dtype::kFloat8E5m2);
  add_dtype<std::int16_t>(table, Dtype::kInt16);
  add_dtype<std::uint16_t>(table, Dtype::kUint16);
}

}  // namespace RAILGAUGE_ISA
}  // namespace railgauge
