// SPDX-License-Identifier: Apache-2.0
// A stream beside the caller's, for a part of an operation that runs concurrently. It can be
// captured with the caller's.
#pragma once

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/mark.h"

namespace railgauge::cuda {

class SideStream {
 public:
  // On a context's GPU. Error (kSystem): it cannot be created.
  explicit SideStream(Context context);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  // Later work on it runs after all work on `stream` so far.
  Stream fork(Stream stream);
  // Later work on `stream` runs after all work on this one so far.
  void join(Stream stream);

 private:
  void follow(Stream first, Mark& reached, Stream then);

  const Driver& cuda_ = Driver::get();
  Context context_;
  Stream stream_ = nullptr;
  Mark forked_, joined_;
};

}  // namespace railgauge::cuda
