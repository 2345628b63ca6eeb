// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "collectives/native/exact_data.h"
#include "collectives/native/random_data.h"

namespace railgauge {

namespace {

// The part of a block that lies within the elements asked for.
struct Part {
  std::uint64_t block;
  std::size_t skipped;  // elements of the block before it
  std::size_t at;       // its place in the data
  std::size_t count;
};

template <class Visit>
void each_part(std::size_t count, std::uint64_t first, Visit visit) {
  for (std::size_t at = 0; at < count;) {
    std::uint64_t index = first + at;
    std::size_t skipped = index % kPatternBlock;
    Part part{index / kPatternBlock, skipped, at, std::min(kPatternBlock - skipped, count - at)};
    visit(part);
    at += part.count;
  }
}

void note(Verdict& verdict, std::size_t index, double expected, double got, double ulps = 0) {
  if (verdict.wrong++ == 0) verdict = {1, index, expected, got, ulps};
}

template <class T>
void compare(const T* expected, const T* got, const Part& part, Verdict& verdict) {
  if (std::memcmp(expected, got, part.count * sizeof(T)) == 0) return;
  for (std::size_t i = 0; i < part.count; ++i) {
    if (std::memcmp(&expected[i], &got[i], sizeof(T)) == 0) continue;
    note(verdict, part.at + i, static_cast<double>(value_of(expected[i])),
         static_cast<double>(value_of(got[i])));
  }
}

template <class T>
void compare_within(const double* exact, const double* tolerance, const T* got, const Part& part,
                    Verdict& verdict) {
  auto is_right = [&](std::size_t i) {  // false for a NaN
    return std::fabs(static_cast<double>(value_of(got[i])) - exact[i]) <= tolerance[i];
  };
  for (std::size_t i = 0; i < part.count; ++i) {
    if (is_right(i)) continue;
    note(verdict, part.at + i, exact[i], static_cast<double>(value_of(got[i])),
         tolerance[i] / unit_in_last_place<T>(exact[i]));
  }
}

// Calls visit with the data of the pattern: an ExactData<T> or RandomData<T>.
template <class T, class Visit>
void with_kind(const Pattern& pattern, Visit visit) {
  if (pattern.kind == PatternKind::kExact) {
    visit(ExactData<T>(pattern), T{});
  } else {
    visit(RandomData<T>(pattern), T{});
  }
}

template <class Visit>
void with_data(const Pattern& pattern, Visit visit) {
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
  }
}

}  // namespace

void fill_pattern(const Pattern& pattern, int rank, void* data, std::size_t count,
                  std::uint64_t first) {
  with_data(pattern, [&]<class T>(const auto& source, T) {
    T values[kPatternBlock];
    each_part(count, first, [&](const Part& part) {
      source.input(rank, part.block, values);
      std::memcpy(static_cast<T*>(data) + part.at, values + part.skipped, part.count * sizeof(T));
    });
  });
}

Verdict check_copied(const Pattern& pattern, int rank, const void* data, std::size_t count,
                     std::uint64_t first) {
  Verdict verdict{};
  with_data(pattern, [&]<class T>(const auto& source, T) {
    T expected[kPatternBlock];
    each_part(count, first, [&](const Part& part) {
      source.input(rank, part.block, expected);
      compare(expected + part.skipped, static_cast<const T*>(data) + part.at, part, verdict);
    });
  });
  return verdict;
}

Verdict check_reduced(const Pattern& pattern, const void* data, std::size_t count,
                      std::uint64_t first) {
  Verdict verdict{};
  with_data(pattern, [&]<class T>(const auto& source, T) {
    auto* got = static_cast<const T*>(data);
    each_part(count, first, [&](const Part& part) {
      if constexpr (requires { source.reference(0, nullptr, nullptr); }) {
        if (source.bounded()) {
          double exact[kPatternBlock], tolerance[kPatternBlock];
          source.reference(part.block, exact, tolerance);
          return compare_within(exact + part.skipped, tolerance + part.skipped, got + part.at, part,
                                verdict);
        }
      }
      T expected[kPatternBlock];
      source.reduced(part.block, expected);
      compare(expected + part.skipped, got + part.at, part, verdict);
    });
  });
  return verdict;
}

}  // namespace railgauge
