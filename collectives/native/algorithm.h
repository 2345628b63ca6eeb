// SPDX-License-Identifier: Apache-2.0
// What runs an operation. The numbers are part of the Python binding (collectives/tuning.py).
#pragma once

namespace railgauge {

// kAlone is a copy, for a single rank. kZeroCopy replaces others if the arrays allow it
// (zero_copy.h).
enum class Algorithm : int {
  kAlone = -1,
  kRing,
  kTree,
  kOneShot,
  kTwoShot,
  kPairs,
  kRecursiveDoubling,
  kRecursiveHalving,
  kHierarchical,
  kZeroCopy,
};
inline constexpr int kAlgorithms = 9;

inline constexpr const char* kAlgorithmNames[kAlgorithms] = {"ring",
                                                             "tree",
                                                             "one-shot",
                                                             "two-shot",
                                                             "pairs",
                                                             "recursive doubling",
                                                             "recursive halving",
                                                             "hierarchical",
                                                             "zero-copy"};
inline constexpr const char* algorithm_name(Algorithm algorithm) {
  return algorithm == Algorithm::kAlone ? "copy" : kAlgorithmNames[static_cast<int>(algorithm)];
}

}  // namespace railgauge
