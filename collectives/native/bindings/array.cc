// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/bindings/array.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "transports/native/error.h"

namespace nb = nanobind;

namespace railgauge {

namespace {

// NumPy's arrays of these types (ml_dtypes) export neither way; viewed as plain bits they do.
struct WithoutExport {
  const char *name, *bits;
  Dtype dtype;
};
constexpr WithoutExport kWithoutExport[] = {{"bfloat16", "uint16", Dtype::kBfloat16}};

[[noreturn]] void refuse(const char* what, const std::string& why) {
  throw Error(ErrorCode::kInvalid, what + (" " + why));
}

// By DLPack's type code (DLDataTypeCode of dlpack.h) and bits.
std::optional<Dtype> dtype_of(int code, int bits) {
  constexpr struct {
    nb::dlpack::dtype_code code;
    int bits;
    Dtype dtype;
  } kTypes[] = {{nb::dlpack::dtype_code::Float, 16, Dtype::kFloat16},
                {nb::dlpack::dtype_code::Bfloat, 16, Dtype::kBfloat16},
                {nb::dlpack::dtype_code::Float, 32, Dtype::kFloat32},
                {nb::dlpack::dtype_code::Float, 64, Dtype::kFloat64},
                {nb::dlpack::dtype_code::Int, 8, Dtype::kInt8},
                {nb::dlpack::dtype_code::UInt, 8, Dtype::kUint8},
                {nb::dlpack::dtype_code::Int, 32, Dtype::kInt32},
                {nb::dlpack::dtype_code::UInt, 32, Dtype::kUint32},
                {nb::dlpack::dtype_code::Int, 64, Dtype::kInt64},
                {nb::dlpack::dtype_code::UInt, 64, Dtype::kUint64}};
  for (const auto& type : kTypes) {
    if (static_cast<int>(type.code) == code && type.bits == bits) return type.dtype;
  }
  return std::nullopt;
}

// By the buffer protocol's format, one of module struct's letters, in this machine's byte order.
std::optional<Dtype> dtype_of(const char* format, int bits) {
  constexpr const char* kNative = std::endian::native == std::endian::little ? "@=<" : "@=>!";
  if (format == nullptr) format = "B";
  if (*format && std::strchr(kNative, *format)) ++format;
  if (*format == 0 || format[1] != 0) return std::nullopt;
  nb::dlpack::dtype_code code;
  if (std::strchr("efd", *format)) {
    code = nb::dlpack::dtype_code::Float;
  } else if (std::strchr("bhilqn", *format)) {
    code = nb::dlpack::dtype_code::Int;
  } else if (std::strchr("BHILQNc", *format)) {
    code = nb::dlpack::dtype_code::UInt;
  } else {
    return std::nullopt;
  }
  return dtype_of(static_cast<int>(code), bits);
}

std::string dtype_name_of(nb::handle object) {
  nb::object dtype = nb::getattr(object, "dtype", nb::none());
  return dtype.is_none() ? std::string() : nb::str(nb::getattr(dtype, "name", dtype)).c_str();
}

[[noreturn]] void refuse_type(const char* what, nb::handle object, const char* format) {
  std::string name = dtype_name_of(object);
  if (name.empty()) name = format ? format : "this type";
  refuse(what, "has elements of " + name + ", which there are no collectives for");
}

[[noreturn]] void refuse_object(const char* what, nb::handle object) {
  std::string why = std::string("is no array: ") + nb::type_name(object.type()).c_str() +
                    " exports neither the buffer protocol nor DLPack";
  if (nb::hasattr(object, "__dlpack__")) {
    try {
      object.attr("__dlpack__")();
    } catch (nb::python_error& error) {
      why = "cannot be used: " + std::string(nb::str(error.value()).c_str());
    }
  }
  refuse(what, why);
}

bool is_contiguous(const nb::ndarray<nb::ro>& array) {
  std::int64_t expected = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != expected) return array.size() == 0;
    expected *= static_cast<std::int64_t>(array.shape(i));
  }
  return true;
}

}  // namespace

Array::~Array() {
  if (view_.obj) PyBuffer_Release(&view_);
}

void Array::hold(nb::handle object, const char* what, bool written) {
  if (object.is_none()) return;
  if (!hold_buffer(object.ptr(), what, written) && !hold_bits(object, what, written) &&
      !hold_dlpack(object, what, written)) {
    refuse_object(what, object);
  }
  if (reinterpret_cast<std::uintptr_t>(data_) % dtype_bytes(dtype_) != 0) {
    refuse(what, "is not aligned to its " + std::to_string(dtype_bytes(dtype_)) + "-byte elements");
  }
  given_ = true;
}

bool Array::hold_buffer(PyObject* object, const char* what, bool written,
                        std::optional<Dtype> dtype) {
  if (!PyObject_CheckBuffer(object)) return false;
  if (PyObject_GetBuffer(object, &view_, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return false;
  }
  if (!PyBuffer_IsContiguous(&view_, 'C')) refuse(what, "is not C-contiguous: copy it first");
  if (!dtype) dtype = dtype_of(view_.format, static_cast<int>(view_.itemsize) * 8);
  if (!dtype) refuse_type(what, object, view_.format);
  if (written && view_.readonly) refuse(what, "is read-only");
  data_ = static_cast<std::byte*>(view_.buf);
  dtype_ = *dtype;
  count_ = static_cast<std::size_t>(view_.len / view_.itemsize);
  return true;
}

bool Array::hold_bits(nb::handle object, const char* what, bool written) {
  if (!nb::hasattr(object, "__array_interface__")) return false;
  const std::string name = dtype_name_of(object);
  for (const WithoutExport& type : kWithoutExport) {
    if (name != type.name) continue;
    nb::object bits = object.attr("view")(type.bits);
    return hold_buffer(bits.ptr(), what, written, type.dtype);
  }
  return false;
}

bool Array::hold_dlpack(nb::handle object, const char* what, bool written) {
  if (!nb::try_cast(object, tensor_)) return false;
  nb::ndarray<> writable;
  if (tensor_.device_type() != nb::device::cpu::value) refuse(what, "is not in host memory");
  if (!is_contiguous(tensor_)) refuse(what, "is not C-contiguous: copy it first");
  auto dtype = dtype_of(tensor_.dtype().code, tensor_.dtype().bits * tensor_.dtype().lanes);
  if (!dtype) refuse_type(what, object, nullptr);
  if (written && !nb::try_cast(object, writable)) refuse(what, "is read-only");
  data_ = static_cast<std::byte*>(const_cast<void*>(tensor_.data()));
  dtype_ = *dtype;
  count_ = tensor_.size();
  return true;
}

}  // namespace railgauge
