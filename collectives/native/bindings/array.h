// SPDX-License-Identifier: Apache-2.0
// A caller's array: what exports the buffer protocol (NumPy, array.array, mmap, bytearray) or
// DLPack (PyTorch) in host memory, C-contiguous, read and written in place. Held until this is
// destroyed.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <optional>

#include "collectives/native/dtype.h"

namespace railgauge {

// By DLPack's type code (DLDataTypeCode of dlpack.h) and bits, of numbers that are not complex.
std::optional<Dtype> dtype_of_dlpack(int code, int bits);

class Array {
 public:
  // What its elements are, where Dtype alone does not say: bools are bytes of 0 and 1, complex
  // numbers two floats.
  enum class Elements { kNumbers, kBools, kComplex };

  Array() = default;
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  // Inspects an array; None counts as empty. `what` names it in messages. Throws Error(kInvalid):
  // not an array, not in host memory, not contiguous or aligned, of an unsupported type, or
  // read-only although it is `written`.
  void hold(nanobind::handle object, const char* what, bool written);

  // The same array as another one, which holds it.
  void borrow(const Array& other);

  bool given() const { return given_; }
  std::byte* data() const { return data_; }
  Dtype dtype() const { return dtype_; }
  Elements elements() const { return elements_; }
  // Of the dtype: twice as many as there are complex numbers.
  std::size_t count() const { return count_; }
  // "float", or of what such an array consists.
  const char* type_name() const;
  std::size_t bytes() const { return count_ * dtype_bytes(dtype_); }

 private:
  // Sets type and count of so many elements; returns whether there is such a type. By DLPack's type
  // code (DLDataTypeCode of dlpack.h) and bits.
  bool take_type(int code, int bits, std::size_t count);
  // Each returns whether the object exports by that protocol. `dtype` is given if bits represent
  // it.
  bool hold_buffer(PyObject* object, const char* what, bool written,
                   std::optional<Dtype> dtype = std::nullopt);
  bool hold_bits(nanobind::handle object, const char* what, bool written);
  bool hold_dlpack(nanobind::handle object, const char* what, bool written);

  bool given_ = false;
  std::byte* data_ = nullptr;
  Dtype dtype_{};
  Elements elements_ = Elements::kNumbers;
  std::size_t count_ = 0;
  Py_buffer view_{};                        // what holds it: this
  nanobind::ndarray<nanobind::ro> tensor_;  // or this
};

}  // namespace railgauge
