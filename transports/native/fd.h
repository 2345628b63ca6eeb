// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace railgauge {

class Fd {
 public:
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~Fd() { reset(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  // Gives it up; -1: there is none.
  int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

}  // namespace railgauge
