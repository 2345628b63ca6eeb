// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/bindings/array.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

// NumPy's arrays of these types (ml_dtypes) export by neither protocol; viewed as plain bits they
// do.
struct WithoutExport {
  const char *name, *bits;
  Dtype dtype;
};
constexpr WithoutExport kWithoutExport[] = {{"bfloat16", "uint16", Dtype::kBfloat16},
                                            {"float8_e4m3fn", "uint8", Dtype::kFloat8E4m3},
                                            {"float8_e5m2", "uint8", Dtype::kFloat8E5m2}};

[[noreturn]] void refuse(const char* what, const std::string& why) {
  throw Error(ErrorCode::kInvalid, what + (" " + why));
}

constexpr int kComplexCode = 5, kBoolCode = 6, kNoCode = -1;

// The type code of a buffer's format, one of module struct's letters (NumPy puts Z before those of
// complex numbers), in this machine's byte order.
int code_of(const char* format) {
  constexpr const char* kNative = std::endian::native == std::endian::little ? "@=<" : "@=>!";
  if (format == nullptr) format = "B";
  if (*format && std::strchr(kNative, *format)) ++format;
  const bool is_complex = *format == 'Z';
  if (is_complex) ++format;
  if (*format == 0 || format[1] != 0) return kNoCode;
  if (std::strchr("efd", *format)) {
    return is_complex ? kComplexCode : static_cast<int>(nb::dlpack::dtype_code::Float);
  }
  if (is_complex) return kNoCode;
  if (*format == '?') return kBoolCode;
  if (std::strchr("bhilqn", *format)) return static_cast<int>(nb::dlpack::dtype_code::Int);
  if (std::strchr("BHILQNc", *format)) return static_cast<int>(nb::dlpack::dtype_code::UInt);
  return kNoCode;
}

std::string dtype_name_of(nb::handle object) {
  nb::object dtype = nb::getattr(object, "dtype", nb::none());
  return dtype.is_none() ? std::string() : nb::str(nb::getattr(dtype, "name", dtype)).c_str();
}

[[noreturn]] void refuse_type(const char* what, nb::handle object, const char* format) {
  std::string name = dtype_name_of(object);
  if (format && (name.empty() || std::strchr("<>!", *format))) name = format;
  refuse(what, "has elements of " + name + ", which no collective supports");
}

// Its DLPack capsule. Read-only arrays give no unversioned ones, which cannot express that.
nb::object capsule_of(nb::handle object, const char* what, bool written) {
  std::string why;
  try {
    return object.attr("__dlpack__")();
  } catch (nb::python_error& error) {
    why = nb::str(error.value()).c_str();
  }
  nb::object capsule;
  try {
    capsule = object.attr("__dlpack__")("max_version"_a = nb::make_tuple(1, 0));
  } catch (nb::python_error&) {
    refuse(what, "cannot be used: " + why);
  }
  if (written) refuse(what, "is read-only");
  return capsule;
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

std::optional<Dtype> dtype_of_dlpack(int code, int bits) {
  constexpr int kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kFloat8E4m3fn = 10, kFloat8E5m2 = 12;
  constexpr struct {
    int code, bits;
    Dtype dtype;
  } kTypes[] = {{kFloat, 16, Dtype::kFloat16},
                {kBfloat, 16, Dtype::kBfloat16},
                {kFloat, 32, Dtype::kFloat32},
                {kFloat, 64, Dtype::kFloat64},
                {kInt, 8, Dtype::kInt8},
                {kUint, 8, Dtype::kUint8},
                {kInt, 32, Dtype::kInt32},
                {kUint, 32, Dtype::kUint32},
                {kInt, 64, Dtype::kInt64},
                {kUint, 64, Dtype::kUint64},
                {kFloat8E4m3fn, 8, Dtype::kFloat8E4m3},
                {kFloat8E5m2, 8, Dtype::kFloat8E5m2},
                {kInt, 16, Dtype::kInt16},
                {kUint, 16, Dtype::kUint16}};
  for (const auto& type : kTypes) {
    if (type.code == code && type.bits == bits) return type.dtype;
  }
  return std::nullopt;
}

Array::~Array() {
  if (view_.obj) PyBuffer_Release(&view_);
}

void Array::hold(nb::handle object, const char* what, bool written) {
  if (object.is_none()) return;
  if (!hold_buffer(object.ptr(), what, written) && !hold_bits(object, what, written) &&
      !hold_dlpack(object, what, written)) {
    refuse(what, std::string("is not an array: ") + nb::type_name(object.type()).c_str() +
                     " exports neither the buffer protocol nor DLPack");
  }
  if (reinterpret_cast<std::uintptr_t>(data_) % dtype_bytes(dtype_) != 0) {
    refuse(what, "is not aligned to its " + std::to_string(dtype_bytes(dtype_)) + "-byte elements");
  }
  given_ = true;
}

bool Array::take_type(int code, int bits, std::size_t count) {
  elements_ = code == kBoolCode      ? Elements::kBools
              : code == kComplexCode ? Elements::kComplex
                                     : Elements::kNumbers;
  std::optional<Dtype> dtype;
  if (elements_ == Elements::kNumbers) {
    dtype = dtype_of_dlpack(code, bits);
  } else if (elements_ == Elements::kBools) {
    if (bits == 8) dtype = Dtype::kUint8;
  } else if (bits == 64 || bits == 128) {
    dtype = bits == 64 ? Dtype::kFloat32 : Dtype::kFloat64;
  }
  if (!dtype) return false;
  dtype_ = *dtype;
  count_ = elements_ == Elements::kComplex ? 2 * count : count;
  return true;
}

const char* Array::type_name() const {
  if (elements_ == Elements::kBools) return "bool";
  if (elements_ == Elements::kNumbers) return dtype_name(dtype_);
  return dtype_ == Dtype::kFloat32 ? "complex64" : "complex128";
}

void Array::borrow(const Array& other) {
  given_ = other.given_;
  data_ = other.data_;
  dtype_ = other.dtype_;
  elements_ = other.elements_;
  count_ = other.count_;
}

bool Array::hold_buffer(PyObject* object, const char* what, bool written,
                        std::optional<Dtype> dtype) {
  if (!PyObject_CheckBuffer(object)) return false;
  if (PyObject_GetBuffer(object, &view_, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return false;
  }
  if (!PyBuffer_IsContiguous(&view_, 'C')) refuse(what, "is not C-contiguous: copy it first");
  const auto count = static_cast<std::size_t>(view_.len / view_.itemsize);
  if (dtype) {
    dtype_ = *dtype;
    count_ = count;
  } else if (!take_type(code_of(view_.format), static_cast<int>(view_.itemsize) * 8, count)) {
    refuse_type(what, object, view_.format);
  }
  if (written && view_.readonly) refuse(what, "is read-only");
  data_ = static_cast<std::byte*>(view_.buf);
  return true;
}

bool Array::hold_bits(nb::handle object, const char* what, bool written) {
  nb::object scalar = nb::getattr(nb::getattr(object, "dtype", nb::none()), "type", nb::none());
  if (scalar.is_none()) return false;
  const std::string name = nb::str(nb::getattr(scalar, "__name__", nb::none())).c_str();
  for (const WithoutExport& type : kWithoutExport) {
    if (name != type.name) continue;
    nb::object bits = object.attr("view")(type.bits);
    return hold_buffer(bits.ptr(), what, written, type.dtype);
  }
  return false;
}

bool Array::hold_dlpack(nb::handle object, const char* what, bool written) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  if (!nb::try_cast(capsule_of(object, what, written), tensor_)) return false;
  if (tensor_.device_type() != nb::device::cpu::value) refuse(what, "is not in host memory");
  if (!is_contiguous(tensor_)) refuse(what, "is not C-contiguous: copy it first");
  const auto type = tensor_.dtype();
  if (!take_type(type.code, type.bits * type.lanes, tensor_.size())) {
    refuse_type(what, object, nullptr);
  }
  data_ = static_cast<std::byte*>(const_cast<void*>(tensor_.data()));
  return true;
}

}  // namespace railgauge
