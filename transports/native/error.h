// SPDX-License-Identifier: Apache-2.0
// The one native exception and its codes. Installed as <railgauge/error.h>. Bindings turn each code
// into an error of Python's tree (transports/native/bindings/errors.cc).
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
  kAborted,   // this rank was asked to stop
  kMismatch,  // ranks disagree on what they are doing
  kPeerLost,  // the rank at the other end is gone: PeerLost
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// A connection ended; `rank` is at its other end.
class PeerLost : public Error {
 public:
  PeerLost(const std::string& message, int rank)
      : Error(ErrorCode::kPeerLost, message), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

// A failed system call: `what` was being done; the text of errno is added.
inline Error system_error(const std::string& what) {
  return Error(ErrorCode::kSystem, what + ": " + std::strerror(errno));
}

}  // namespace railgauge
