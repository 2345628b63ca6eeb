// SPDX-License-Identifier: Apache-2.0
// The reduction kernels: plain loops that the compiler vectorises. Compiled once per instruction
// set (CMakeLists.txt), with RAILGAUGE_ISA as the namespace of the result. All templates live
// in an anonymous namespace, so that the linker cannot merge the builds.
#include <cstdint>

#include "collectives/native/reduce.h"
#include "collectives/native/reduced_float.h"

namespace railgauge {
namespace {

// How a stored element is computed with. Integer sums and products wrap, as they do on a GPU; they
// are done unsigned because signed overflow has no meaning in C++.
template <class T>
struct Arithmetic {
  using Stored = T;
  using Value = T;
  static Value load(T x) { return x; }
  static T store(Value x) { return x; }
};
template <>
struct Arithmetic<Float16> {
  using Stored = Float16;
  using Value = float;
  static float load(Float16 x) { return widen(x); }
  static Float16 store(float x) { return narrow_float16(x); }
};
template <>
struct Arithmetic<Bfloat16> {
  using Stored = Bfloat16;
  using Value = float;
  static float load(Bfloat16 x) { return widen(x); }
  static Bfloat16 store(float x) { return narrow_bfloat16(x); }
};

template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<std::int8_t> {
  using type = std::uint8_t;
};
template <>
struct Wrapping<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct Wrapping<std::int64_t> {
  using type = std::uint64_t;
};

struct Sum {
  template <class V>
  static V apply(V a, V b) {
    using U = typename Wrapping<V>::type;
    return static_cast<V>(static_cast<U>(a) + static_cast<U>(b));
  }
};
struct Prod {
  template <class V>
  static V apply(V a, V b) {
    using U = typename Wrapping<V>::type;
    return static_cast<V>(static_cast<U>(a) * static_cast<U>(b));
  }
};
// A number wins over a NaN, as with C's fmin and fmax.
struct Min {
  template <class V>
  static V apply(V a, V b) {
    return (b < a || a != a) ? b : a;
  }
};
struct Max {
  template <class V>
  static V apply(V a, V b) {
    return (b > a || a != a) ? b : a;
  }
};

template <class T, class Op>
void combine(void* out, const void* a, const void* b, std::size_t count) {
  using A = Arithmetic<T>;
  auto* o = static_cast<T*>(out);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    o[i] = A::store(Op::apply(A::load(x[i]), A::load(y[i])));
  }
}

template <class T, class Op>
void combine_twice(void* out, void* also, const void* a, const void* b, std::size_t count) {
  using A = Arithmetic<T>;
  auto* o = static_cast<T*>(out);
  auto* p = static_cast<T*>(also);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    T value = A::store(Op::apply(A::load(x[i]), A::load(y[i])));
    o[i] = value;
    p[i] = value;
  }
}

template <class T>
void divide(void* data, std::size_t count, int divisor) {
  using A = Arithmetic<T>;
  auto* x = static_cast<T*>(data);
  auto by = static_cast<typename A::Value>(divisor);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = A::store(static_cast<typename A::Value>(A::load(x[i]) / by));
  }
}

// An average of more ranks than an 8-bit type can count: divide as int.
template <>
void divide<std::int8_t>(void* data, std::size_t count, int divisor) {
  auto* x = static_cast<std::int8_t*>(data);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<std::int8_t>(x[i] / divisor);
}
template <>
void divide<std::uint8_t>(void* data, std::size_t count, int divisor) {
  auto* x = static_cast<std::uint8_t*>(data);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<std::uint8_t>(x[i] / divisor);
}

template <class T, class Op>
void add_redop(ReduceKernels& table, Dtype dtype, Redop op) {
  table.combine[static_cast<int>(dtype)][static_cast<int>(op)] = combine<T, Op>;
  table.combine_twice[static_cast<int>(dtype)][static_cast<int>(op)] = combine_twice<T, Op>;
}

template <class T>
void add_dtype(ReduceKernels& table, Dtype dtype) {
  add_redop<T, Sum>(table, dtype, Redop::kSum);
  add_redop<T, Prod>(table, dtype, Redop::kProd);
  add_redop<T, Min>(table, dtype, Redop::kMin);
  add_redop<T, Max>(table, dtype, Redop::kMax);
  add_redop<T, Sum>(table, dtype, Redop::kAvg);
  table.divide[static_cast<int>(dtype)] = divide<T>;
}

}  // namespace

namespace RAILGAUGE_ISA {

void fill(ReduceKernels& table) {
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
}

}  // namespace RAILGAUGE_ISA
}  // namespace railgauge
