// SPDX-License-Identifier: Apache-2.0
// The one native exception and its codes. Bindings turn each code into an error of Python's tree
// (transports/native/bindings/errors.cc).
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace railgauge {

enum class ErrorCode {
  kSystem,    // a system call failed
  kInvalid,   // an argument is wrong
  kTimeout,   // a wait reached its deadline
  kAborted,   // somebody asked this rank to stop
  kMismatch,  // ranks disagree on what they are doing
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// A failed system call: `what` was being done; the text of errno is added.
inline Error system_error(const std::string& what) {
  return Error(ErrorCode::kSystem, what + ": " + std::strerror(errno));
}

}  // namespace railgauge
