// SPDX-License-Identifier: Apache-2.0
// Element types and reduction operators. Installed as <railgauge/dtype.h>.
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
  kInt16,  // from here on in host memory alone
  kUint16,
};
inline constexpr int kDtypes = 12;  // of all devices
inline constexpr int kHostDtypes = 14;

enum class Redop : int {
  kSum,
  kProd,
  kMin,
  kMax,
  kAvg,
  kBitAnd,  // from here on in host memory alone, of integers
  kBitOr,
  kBitXor,
};
inline constexpr int kRedops = 5;  // of all devices
inline constexpr int kHostRedops = 8;

inline constexpr bool is_integer(Dtype dtype) {
  return (dtype >= Dtype::kInt8 && dtype <= Dtype::kUint64) || dtype >= Dtype::kInt16;
}
// Whether elements of the type are reduced by the operator in host memory.
inline constexpr bool reduces_by(Dtype dtype, Redop op) {
  return op < Redop::kBitAnd || is_integer(dtype);
}

inline constexpr std::size_t kDtypeBytes[kHostDtypes] = {2, 2, 4, 8, 1, 1, 4, 4, 8, 8, 1, 1, 2, 2};
inline constexpr std::size_t dtype_bytes(Dtype dtype) {
  return kDtypeBytes[static_cast<int>(dtype)];
}

inline constexpr const char* kDtypeNames[kHostDtypes] = {
    "half",   "bfloat16", "float",  "double", "int8",   "uint8", "int32",
    "uint32", "int64",    "uint64", "f8e4m3", "f8e5m2", "int16", "uint16"};
inline constexpr const char* dtype_name(Dtype dtype) {
  return kDtypeNames[static_cast<int>(dtype)];
}

}  // namespace railgauge
