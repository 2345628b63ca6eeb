// SPDX-License-Identifier: Apache-2.0
// Element types and reduction operators.
// The numbers are part of the Python binding (collectives/dtype.py lists the same names in this
// order), so new ones go to the end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge {

enum class Dtype : int {
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat8E4m3,
  kFloat8E5m2,
};
inline constexpr int kDtypes = 12;

enum class Redop : int { kSum, kProd, kMin, kMax, kAvg };
inline constexpr int kRedops = 5;

inline constexpr std::size_t kDtypeBytes[kDtypes] = {2, 2, 4, 8, 1, 1, 4, 4, 8, 8, 1, 1};
inline constexpr std::size_t dtype_bytes(Dtype dtype) {
  return kDtypeBytes[static_cast<int>(dtype)];
}

inline constexpr const char* kDtypeNames[kDtypes] = {"half",  "bfloat16", "float",  "double",
                                                     "int8",  "uint8",    "int32",  "uint32",
                                                     "int64", "uint64",   "f8e4m3", "f8e5m2"};
inline constexpr const char* dtype_name(Dtype dtype) {
  return kDtypeNames[static_cast<int>(dtype)];
}

}  // namespace railgauge
