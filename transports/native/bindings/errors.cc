// SPDX-License-Identifier: Apache-2.0
// Native error codes as Python exceptions. They are the tree of railgauge.topo.errors: the classes
// are looked up there, so that `except RunError` catches what the engine throws.
#include <nanobind/nanobind.h>

#include "transports/native/error.h"

namespace nb = nanobind;

namespace railgauge {

namespace {

const char* python_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kSystem:
      return "UnavailableError";
    case ErrorCode::kInvalid:
      return "UsageError";
    case ErrorCode::kTimeout:
      return "WaitTimeoutError";
    case ErrorCode::kAborted:
      return "AbortedError";
    case ErrorCode::kMismatch:
      return "MismatchError";
  }
  return "Error";
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      nb::object type =
          nb::module_::import_("railgauge.topo.errors").attr(python_name(error.code()));
      PyErr_SetString(type.ptr(), error.what());
    }
  });
}

}  // namespace railgauge
