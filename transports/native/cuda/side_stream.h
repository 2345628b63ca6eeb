// SPDX-License-Identifier: Apache-2.0
// A stream beside the caller's, for a part of an operation that goes on at the same time. It can be
// captured with the caller's.
#pragma once

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/mark.h"

namespace railgauge::cuda {

class SideStream {
 public:
  // On a context's GPU. Error (kSystem): it cannot be had.
  explicit SideStream(Context context);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  // What is put on it from now on comes after all that is on `stream`.
  Stream fork(Stream stream);
  // What is put on `stream` from now on comes after all that is on this one.
  void join(Stream stream);

 private:
  void follow(Stream first, Mark& reached, Stream then);

  const Driver& cuda_ = Driver::get();
  Context context_;
  Stream stream_ = nullptr;
  Mark forked_, joined_;
};

}  // namespace railgauge::cuda
