// SPDX-License-Identifier: Apache-2.0
// Verification data element by element, as GPUs make and check it, against blocks of it, as the
// host does: the same bits, the same bounds, the same verdicts; every dtype, operator and kind.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "collectives/native/pattern_data.h"
#include "tests/native/require.h"

namespace railgauge {
namespace {

constexpr std::size_t kCount = kPatternBlock + 5;
constexpr std::uint64_t kFirst = 4 * kPatternBlock - 2;

template <class Data, class T>
std::vector<T> inputs(const Data& data, int rank) {
  std::vector<T> made(kCount);
  for (std::size_t i = 0; i < kCount; ++i) made[i] = data.input(rank, kFirst + i);
  return made;
}

// What a reduction could give, which is wrong at some places and right at others.
template <class T>
void damage(std::vector<T>& data) {
  for (std::size_t i = 7; i < kCount; i += 13) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &data[i], sizeof(T));
    bytes[i % sizeof(T)] ^= 1u << i % 8;
    std::memcpy(&data[i], bytes, sizeof(T));
  }
}

void same(const Verdict& blocks, std::size_t wrong, std::size_t first) {
  REQUIRE(blocks.wrong == wrong);
  REQUIRE(wrong == 0 || blocks.index == first);
}

template <class Data, class T>
void try_checks(const DataPattern& pattern, const Data& data, const std::vector<T>& got, int rank) {
  std::size_t copied = 0, first_copied = 0, reduced = 0, first_reduced = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!is_copied(data, rank, kFirst + i, got[i]) && copied++ == 0) first_copied = i;
    if (!is_reduced(data, kFirst + i, got[i]) && reduced++ == 0) first_reduced = i;
  }
  same(check_copied(pattern, rank, got.data(), kCount, kFirst), copied, first_copied);
  same(check_reduced(pattern, got.data(), kCount, kFirst), reduced, first_reduced);
}

template <class Data, class T>
void try_out(const DataPattern& pattern, const Data& data, T) {
  for (int rank : {0, pattern.ranks - 1}) {
    std::vector<T> blocks(kCount), elements = inputs<Data, T>(data, rank);
    fill_pattern(pattern, rank, blocks.data(), kCount, kFirst);
    REQUIRE(!std::memcmp(blocks.data(), elements.data(), kCount * sizeof(T)));
    try_checks(pattern, data, elements, rank);
    damage(elements);
    try_checks(pattern, data, elements, rank);
  }
  std::vector<T> result(kCount);
  for (std::size_t i = 0; i < kCount; ++i) result[i] = data.reduced(kFirst + i);
  try_checks(pattern, data, result, 0);
  damage(result);
  try_checks(pattern, data, result, 0);
  if constexpr (requires { data.reference_block(0, nullptr); }) {
    if (!data.bounded()) return;
    ExpectedSum references[kPatternBlock];
    data.reference_block(9, references);
    for (std::size_t i = 0; i < kPatternBlock; ++i) {
      const ExpectedSum one = data.reference(9 * kPatternBlock + i);
      REQUIRE(!std::memcmp(&references[i], &one, sizeof one));
    }
  }
}

// A product is rounded before anything is added to it, whatever instructions there are: hosts of
// all architectures and GPUs have the same bounds.
void products_are_rounded() {
  const volatile double x = 1 + power_of_two(-30), minus = -(1 + power_of_two(-29));
  const double factor = x;
  REQUIRE(factor * factor + minus == 0);
}

void run() {
  products_are_rounded();
  for (int dtype = 0; dtype < kDtypes; ++dtype) {
    for (int op = 0; op < kRedops; ++op) {
      for (PatternKind kind : {PatternKind::kExact, PatternKind::kRandom}) {
        for (int ranks : {1, 2, 8, 150}) {
          const DataPattern pattern{ranks, static_cast<Dtype>(dtype), static_cast<Redop>(op), 11,
                                    kind};
          with_data(pattern, [&](const auto& data, auto zero) { try_out(pattern, data, zero); });
        }
      }
    }
  }
}

}  // namespace
}  // namespace railgauge

int main() { railgauge::run(); }
