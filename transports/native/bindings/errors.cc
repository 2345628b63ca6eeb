// SPDX-License-Identifier: Apache-2.0
// Native error codes as Python exceptions. They are the tree of railgauge.topo.errors: the classes
// are looked up there, so that `except RunError` catches what the engine throws.
#include <nanobind/nanobind.h>

#include <iterator>
#include <utility>

#include "transports/native/error.h"

namespace nb = nanobind;

namespace railgauge {

namespace {

constexpr std::pair<ErrorCode, const char*> kPythonNames[] = {
    {ErrorCode::kSystem, "UnavailableError"},  {ErrorCode::kInvalid, "UsageError"},
    {ErrorCode::kTimeout, "WaitTimeoutError"}, {ErrorCode::kAborted, "AbortedError"},
    {ErrorCode::kMismatch, "MismatchError"},   {ErrorCode::kPeerLost, "PeerLostError"},
};
// By code, and never freed. Looked up early: during an error a signal handler could run, and fail.
PyObject* python_types[std::size(kPythonNames)];

PyObject* python_type(ErrorCode code) { return python_types[static_cast<int>(code)]; }

}  // namespace

void bind_errors(nb::module_&) {
  const nb::module_ errors = nb::module_::import_("railgauge.topo.errors");
  for (const auto& [code, name] : kPythonNames) {
    python_types[static_cast<int>(code)] = nb::object(errors.attr(name)).release().ptr();
  }
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const PeerLost& error) {
      PyObject* type = python_type(error.code());
      PyObject* made = PyObject_CallFunction(type, "si", error.what(), error.rank());
      if (made == nullptr) return;  // with the exception of a signal handler
      PyErr_SetObject(type, made);
      Py_DECREF(made);
    } catch (const Error& error) {
      PyErr_SetString(python_type(error.code()), error.what());
    }
  });
}

}  // namespace railgauge
