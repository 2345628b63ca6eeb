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
    case ErrorCode::kPeerLost:
      return "PeerLostError";
  }
  return "Error";
}

nb::object python_type(ErrorCode code) {
  return nb::module_::import_("railgauge.topo.errors").attr(python_name(code));
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const PeerLost& error) {
      nb::object type = python_type(error.code());
      PyErr_SetObject(type.ptr(), type(error.what(), error.rank()).ptr());
    } catch (const Error& error) {
      PyErr_SetString(python_type(error.code()).ptr(), error.what());
    }
  });
}

}  // namespace railgauge
