// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/pattern.h"

#include <algorithm>
#include <cstring>

#include "collectives/native/pattern_data.h"

namespace railgauge {

namespace {

// The part of a block that lies within the elements asked for.
struct BlockStretch {
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
    BlockStretch part{index / kPatternBlock, skipped, at,
                      std::min(kPatternBlock - skipped, count - at)};
    visit(part);
    at += part.count;
  }
}

void note(Verdict& verdict, std::size_t index, double expected, double got, double ulps = 0) {
  if (verdict.wrong++ == 0) verdict = {1, index, expected, got, ulps};
}

template <class T>
void compare(const T* expected, const T* got, const BlockStretch& part, Verdict& verdict) {
  if (std::memcmp(expected, got, part.count * sizeof(T)) == 0) return;
  for (std::size_t i = 0; i < part.count; ++i) {
    if (std::memcmp(&expected[i], &got[i], sizeof(T)) == 0) continue;
    note(verdict, part.at + i, static_cast<double>(value_of(expected[i])),
         static_cast<double>(value_of(got[i])));
  }
}

template <class T>
void compare_within(const ExpectedSum* references, const T* got, const BlockStretch& part,
                    Verdict& verdict) {
  for (std::size_t i = 0; i < part.count; ++i) {
    const ExpectedSum& reference = references[i];
    const auto value = static_cast<double>(value_of(got[i]));
    if (reference.allows(value)) continue;
    note(verdict, part.at + i, reference.exact, value,
         reference.tolerance / unit_in_last_place<T>(reference.exact));
  }
}

}  // namespace

void fill_pattern(const DataPattern& pattern, int rank, void* data, std::size_t count,
                  std::uint64_t first) {
  with_data(pattern, [&]<class T>(const auto& source, T) {
    T values[kPatternBlock];
    each_part(count, first, [&](const BlockStretch& part) {
      source.input_block(rank, part.block, values);
      std::memcpy(static_cast<T*>(data) + part.at, values + part.skipped, part.count * sizeof(T));
    });
  });
}

Verdict check_copied(const DataPattern& pattern, int rank, const void* data, std::size_t count,
                     std::uint64_t first) {
  Verdict verdict{};
  with_data(pattern, [&]<class T>(const auto& source, T) {
    T expected[kPatternBlock];
    each_part(count, first, [&](const BlockStretch& part) {
      source.input_block(rank, part.block, expected);
      compare(expected + part.skipped, static_cast<const T*>(data) + part.at, part, verdict);
    });
  });
  return verdict;
}

Verdict check_reduced(const DataPattern& pattern, const void* data, std::size_t count,
                      std::uint64_t first) {
  Verdict verdict{};
  with_data(pattern, [&]<class T>(const auto& source, T) {
    auto* got = static_cast<const T*>(data);
    each_part(count, first, [&](const BlockStretch& part) {
      if constexpr (requires { source.reference_block(0, nullptr); }) {
        if (source.bounded()) {
          ExpectedSum references[kPatternBlock];
          source.reference_block(part.block, references);
          return compare_within(references + part.skipped, got + part.at, part, verdict);
        }
      }
      T expected[kPatternBlock];
      source.reduced_block(part.block, expected);
      compare(expected + part.skipped, got + part.at, part, verdict);
    });
  });
  return verdict;
}

}  // namespace railgauge
