// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/nccl/registered_memory.h"

namespace railgauge::nccl {

namespace {

constexpr int kSymmetricWindow = 1;  // NCCL_WIN_COLL_SYMMETRIC

class Allocated : public cuda::Source {
 public:
  explicit Allocated(NcclCommunicator& comm) : comm_(comm) {}

  cuda::Pointer take(std::size_t size, const std::string& gpu) override {
    void* memory = nullptr;
    const Library& nccl = comm_.library();
    nccl.check(nccl.allocate(&memory, size), "taking " + std::to_string(size) + " bytes of " + gpu);
    try {
      comm_.in_time("registering memory", [&] { enroll(memory, size); });
    } catch (...) {
      nccl.free(memory);
      throw;
    }
    return reinterpret_cast<cuda::Pointer>(memory);
  }

  void give_back(cuda::Pointer pointer) override {
    if (const Comm comm = comm_.comm_or_null()) withdraw(comm);
    comm_.library().free(reinterpret_cast<void*>(pointer));
  }

 protected:
  virtual void enroll(void* memory, std::size_t size) = 0;
  virtual void withdraw(Comm comm) = 0;

  NcclCommunicator& comm_;
};

class Buffer : public Allocated {
  using Allocated::Allocated;

  void enroll(void* memory, std::size_t size) override {
    const Library& nccl = comm_.library();
    nccl.check(nccl.enroll(comm_.comm(), memory, size, &handle_), "registering a buffer");
  }
  void withdraw(Comm comm) override { comm_.library().withdraw(comm, handle_); }

  void* handle_ = nullptr;
};

class Symmetric : public Allocated {
  using Allocated::Allocated;

  void enroll(void* memory, std::size_t size) override {
    const Library& nccl = comm_.library();
    nccl.check(nccl.open_window(comm_.comm(), memory, size, &window_, kSymmetricWindow),
               "making memory symmetric");
  }
  void withdraw(Comm comm) override { comm_.library().close_window(comm, window_); }

  Window window_ = nullptr;
};

std::unique_ptr<cuda::Source> source(NcclCommunicator& comm, RegistrationKind registration) {
  const Library& nccl = comm.library();
  switch (registration) {
    case RegistrationKind::kBuffer:
      nccl.need(nccl.allocate && nccl.free && nccl.enroll && nccl.withdraw,
                "registering buffers (-R 1)", "2.19");
      return std::make_unique<Buffer>(comm);
    case RegistrationKind::kSymmetric:
      nccl.need(nccl.allocate && nccl.free && nccl.open_window && nccl.close_window,
                "symmetric memory (-R 2)", "2.27");
      return std::make_unique<Symmetric>(comm);
    default:
      return std::make_unique<cuda::Source>();
  }
}

}  // namespace

std::unique_ptr<cuda::Memory> allocate(NcclCommunicator& comm, std::size_t size,
                                       RegistrationKind registration) {
  return std::make_unique<cuda::Memory>(comm.device(), size, source(comm, registration));
}

}  // namespace railgauge::nccl
