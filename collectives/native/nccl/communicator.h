// SPDX-License-Identifier: Apache-2.0
// One rank's communicator of NCCL: the same operations as our engines', run by the installed NCCL.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "collectives/native/nccl/library.h"
#include "collectives/native/operation.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/timer.h"

namespace railgauge::nccl {

class NcclCommunicator {
 public:
  // `device` by CUDA's number. Error (kSystem): no driver, no such device.
  NcclCommunicator(std::shared_ptr<const Library> library, int device, int rank, int ranks,
                   double timeout_s);
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Connect to the other ranks, which have the same id. Error (kTimeout): not all arrived within
  // the timeout; (kAborted): abort() was called.
  void connect(const UniqueId& id);

  // Put an operation on a stream, built as nccl-tests builds it. All ranks in one order.
  void run(const Operation& operation, Stream stream);
  // Run an operation on a stream of its own, as Timer::time does; the seconds one took. Error
  // (kTimeout): not done in time, and this communicator is aborted.
  double repeat(const Operation& operation, int ahead, int times, int replays);
  // End all waits here, on the GPU too; nothing runs afterwards. For any thread.
  void abort();

  const Library& library() const { return *library_; }
  // NCCL's own. Error (kAborted): not connected, or ended.
  Comm comm() const;
  Comm comm_or_null() const { return comm_; }
  int device() const { return ordinal_; }
  // Run a call that waits for other ranks, for which NCCL has no timeout. Error (kTimeout): it did
  // not end by itself; (kAborted): abort() was called. After any error this communicator is
  // aborted.
  void in_time(const char* what, const std::function<void()>& work);

 private:
  void check(Result result, const std::string& what) const { library_->check(result, what); }
  // Built from sends and receives; later releases have functions for them.
  void in_parts(const Operation& operation, Comm comm, Stream stream) const;

  const std::shared_ptr<const Library> library_;
  const int ordinal_, rank_, ranks_;
  const double timeout_s_;
  const cuda::Gpu gpu_;
  cuda::Timer clock_;
  std::atomic<bool> aborted_ = false;
  std::atomic<Comm> comm_ = nullptr;
};

}  // namespace railgauge::nccl
