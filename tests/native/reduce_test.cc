// SPDX-License-Identifier: Apache-2.0
// The reduction kernels of every instruction set that this processor has, element for element
// against one loop over single numbers: every dtype, operator and number of inputs, counts around
// those of a register, a second target, targets that are inputs, divisors, streaming to any
// alignment; nothing beside the result is written. And verification: what it takes and what it
// finds. Made for sanitizers.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "collectives/native/pattern.h"
#include "collectives/native/reduce_table.h"
#include "collectives/native/reduced_float.h"
#include "tests/native/require.h"

namespace railgauge {
namespace {

using Bytes = std::vector<unsigned char>;

template <class T>
auto value_of(T x) {
  if constexpr (kIsReduced<T>) {
    return widen(x);
  } else {
    return x;
  }
}

template <class V>
V combined(Redop op, V a, V b) {
  if (op == Redop::kMin) return b < a || a != a ? b : a;
  if (op == Redop::kMax) return b > a || a != a ? b : a;
  if constexpr (std::is_integral_v<V>) {
    auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<V>(op == Redop::kProd ? x * y : x + y);
  } else {
    return op == Redop::kProd ? a * b : a + b;
  }
}

template <class T>
T one_by_one(Redop op, const std::vector<Bytes>& inputs, std::size_t index, int divisor) {
  auto element = [&](const Bytes& input) {
    T x;
    std::memcpy(&x, input.data() + index * sizeof(T), sizeof(T));
    return value_of(x);
  };
  auto value = element(inputs[0]);
  for (std::size_t k = 1; k < inputs.size(); ++k) value = combined(op, value, element(inputs[k]));
  if (divisor) value = static_cast<decltype(value)>(value / static_cast<decltype(value)>(divisor));
  if constexpr (kIsReduced<T>) {
    return narrow<T>(value);
  } else {
    return value;
  }
}

// Bit by bit, but any NaN for a NaN: which one comes of two depends on the instruction.
template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 ||
         (value_of(a) != value_of(a) && value_of(b) != value_of(b));
}

constexpr std::size_t kMargin = 64;
constexpr unsigned char kUntouched = 0x5a;

template <class T>
void holds(const Bytes& target, std::size_t start, std::size_t count, const std::vector<T>& want) {
  for (std::size_t i = 0; i < count; ++i) {
    T got;
    std::memcpy(&got, target.data() + start + i * sizeof(T), sizeof(T));
    REQUIRE(same(got, want[i]));
  }
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (i < start || i >= start + count * sizeof(T)) REQUIRE(target[i] == kUntouched);
  }
}

std::vector<const void*> pointers(const std::vector<Bytes>& inputs) {
  std::vector<const void*> data;
  for (const Bytes& input : inputs) data.push_back(input.data());
  return data;
}

// Any bits, and for floats mostly numbers of like size.
template <class T>
std::vector<Bytes> random_inputs(int n, std::size_t count, std::mt19937& random) {
  std::vector<Bytes> inputs(n, Bytes(count * sizeof(T)));
  for (Bytes& input : inputs) {
    for (auto& byte : input) byte = static_cast<unsigned char>(random());
  }
  return inputs;
}

template <class T>
void one_case(CombineAll combine, Redop op, int n, std::size_t count, int divisor,
              std::mt19937& random) {
  auto inputs = random_inputs<T>(n, count, random);
  std::vector<T> want(count);
  for (std::size_t i = 0; i < count; ++i) want[i] = one_by_one<T>(op, inputs, i, divisor);
  auto data = pointers(inputs);
  std::size_t shift = random() % 16 * sizeof(T);
  Bytes out(count * sizeof(T) + 3 * kMargin + shift, kUntouched), also = out;
  combine(out.data() + kMargin + shift, nullptr, data.data(), n, count, divisor, false);
  holds(out, kMargin + shift, count, want);
  combine(out.data() + kMargin + shift, also.data() + kMargin, data.data(), n, count, divisor,
          true);
  stream_fence();
  holds(out, kMargin + shift, count, want);
  holds(also, kMargin, count, want);
  // In place: the result over the first input, and the second target over the last.
  combine(inputs.front().data(), inputs.back().data(), data.data(), n, count, divisor, false);
  holds(inputs.front(), 0, count, want);
  holds(inputs.back(), 0, count, want);
}

template <class T>
void every_case(const ReduceTable& table, Dtype dtype) {
  std::mt19937 random(static_cast<unsigned>(dtype));
  std::size_t width = 64 / sizeof(T);
  for (int op = 0; op < kRedops; ++op) {
    CombineAll combine = table.combine[static_cast<int>(dtype)][op];
    for (int n : {1, 2, 3, 4, 5, 8, 17}) {
      for (std::size_t count :
           {std::size_t{0}, std::size_t{1}, width - 1, width, width + 1, 4 * width, 4 * width + 3,
            9 * width + width / 2, std::size_t{1009}}) {
        int divisor = static_cast<Redop>(op) == Redop::kAvg ? n : count % 2 ? 0 : 3;
        one_case<T>(combine, static_cast<Redop>(op), n, count, divisor, random);
      }
    }
  }
}

void all_kernels(const ReduceTable& table) {
  every_case<Float16>(table, Dtype::kFloat16);
  every_case<Bfloat16>(table, Dtype::kBfloat16);
  every_case<float>(table, Dtype::kFloat32);
  every_case<double>(table, Dtype::kFloat64);
  every_case<std::int8_t>(table, Dtype::kInt8);
  every_case<std::uint8_t>(table, Dtype::kUint8);
  every_case<std::int32_t>(table, Dtype::kInt32);
  every_case<std::uint32_t>(table, Dtype::kUint32);
  every_case<std::int64_t>(table, Dtype::kInt64);
  every_case<std::uint64_t>(table, Dtype::kUint64);
  every_case<Float8E4m3>(table, Dtype::kFloat8E4m3);
  every_case<Float8E5m2>(table, Dtype::kFloat8E5m2);
}

// What kernels of every instruction set make of a pattern passes, whole or in pieces, and a changed
// bit is found where it is.
void verification(const ReduceTable& table, Dtype dtype, Redop op, int ranks, PatternKind kind) {
  constexpr std::size_t kCount = 2500;
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) - 777;
  DataPattern pattern{ranks, dtype, op, 99, kind};
  std::size_t element = dtype_bytes(dtype);
  std::vector<Bytes> inputs(ranks, Bytes(kCount * element));
  for (int rank = 0; rank < ranks; ++rank) {
    fill_pattern(pattern, rank, inputs[rank].data(), kCount, kFirst);
    REQUIRE(check_copied(pattern, rank, inputs[rank].data(), kCount, kFirst).wrong == 0);
    REQUIRE(check_copied(pattern, rank, inputs[rank].data() + 1234 * element, 77, kFirst + 1234)
                .wrong == 0);
  }
  auto data = pointers(inputs);
  Bytes out(kCount * element);
  table.combine[static_cast<int>(dtype)][static_cast<int>(op)](
      out.data(), nullptr, data.data(), ranks, kCount, op == Redop::kAvg ? ranks : 0, false);
  REQUIRE(check_reduced(pattern, out.data(), kCount, kFirst).wrong == 0);
  REQUIRE(check_reduced(pattern, out.data() + 1000 * element, 55, kFirst + 1000).wrong == 0);
  out[2001 * element + element - 1] ^= 0x80;  // a sign, or the highest bit
  Verdict verdict = check_reduced(pattern, out.data(), kCount, kFirst);
  REQUIRE(verdict.wrong <= 1);
  if (kind == PatternKind::kExact) REQUIRE(verdict.wrong == 1 && verdict.index == 2001);
  inputs[0][7 * element] ^= 1;
  verdict = check_copied(pattern, 0, inputs[0].data(), kCount, kFirst);
  REQUIRE(verdict.wrong == 1 && verdict.index == 7);
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  for (const ReduceTable& table : reduce_tables()) {
    all_kernels(table);
    for (int dtype = 0; dtype < kDtypes; ++dtype) {
      for (int op = 0; op < kRedops; ++op) {
        for (int ranks : {1, 2, 3, 8, 100}) {
          for (PatternKind kind : {PatternKind::kExact, PatternKind::kRandom}) {
            verification(table, static_cast<Dtype>(dtype), static_cast<Redop>(op), ranks, kind);
          }
        }
      }
    }
  }
  std::puts("all passed");
}
