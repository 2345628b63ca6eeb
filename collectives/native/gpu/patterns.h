// SPDX-License-Identifier: Apache-2.0
// The counterpart of pattern.h for GPUs' memory: verification data is generated and checked in
// place. Every call returns when it is done.
#pragma once

#include "collectives/native/pattern.h"
#include "transports/native/cuda/kernels.h"
#include "transports/native/cuda/memory.h"

namespace railgauge::gpu {

class Patterns {
 public:
  // `device` by CUDA's number. Error (kSystem): no driver, no such device, a build without kernels.
  // All others: Error (kTimeout): the GPU did not finish within that many seconds.
  Patterns(int device, double timeout_s);

  void fill(const DataPattern& pattern, int rank, cuda::Pointer data, std::size_t count,
            std::uint64_t first = 0);
  // Error (kSystem): the GPU finds wrong what the host finds right.
  Verdict check_copied(const DataPattern& pattern, int rank, cuda::Pointer data, std::size_t count,
                       std::uint64_t first = 0);
  Verdict check_reduced(const DataPattern& pattern, cuda::Pointer data, std::size_t count,
                        std::uint64_t first = 0);

 private:
  template <class... Parameters>
  void launch(const char* what, const DataPattern& pattern, std::size_t count,
              Parameters... parameters);
  template <class CheckOnHost>
  Verdict verdict(const DataPattern& pattern, cuda::Pointer data, CheckOnHost check_on_host) const;

  const cuda::Driver& cuda_ = cuda::Driver::get();
  const double timeout_s_;
  cuda::Memory wrong_;  // a Wrong
  cuda::Kernels kernels_;
};

}  // namespace railgauge::gpu
