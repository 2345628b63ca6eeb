// SPDX-License-Identifier: Apache-2.0
// What can go to another process as a file descriptor: an allocation of cuMemCreate, or a whole
// pool of cudaMallocAsync.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transports/native/cuda/driver.h"
#include "transports/native/fd.h"

namespace railgauge::cuda {

inline constexpr int kAsDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

enum class ShareableKind : std::uint32_t { kAllocation, kPool };

// An allocation lives as long as something holds or maps it, in any process.
class Shareable {
 public:
  // Takes over an allocation that the driver handed out.
  explicit Shareable(MemoryHandle allocation)
      : Shareable(ShareableKind::kAllocation, allocation, true) {}
  // That of an address; none for memory of cudaMalloc.
  static std::optional<Shareable> of(Pointer pointer);
  // Another process's. Error (kSystem): it cannot be imported.
  static Shareable imported(ShareableKind kind, const Fd& exported, const std::string& what);
  Shareable(Shareable&& other) noexcept;
  Shareable& operator=(Shareable&&) = delete;
  ~Shareable();

  ShareableKind kind() const { return kind_; }
  MemoryHandle handle() const { return handle_; }
  // Whether it was made to be exported as a descriptor.
  bool can_be_exported() const;
  // A descriptor of it; Error (kSystem).
  Fd exported() const;

 private:
  Shareable(ShareableKind kind, MemoryHandle handle, bool held)
      : kind_(kind), handle_(handle), held_(held) {}

  ShareableKind kind_;
  MemoryHandle handle_;
  bool held_;  // to be given back
};

// For memory that a GPU may read and write.
MemoryAccess access_of(Device device);

}  // namespace railgauge::cuda
