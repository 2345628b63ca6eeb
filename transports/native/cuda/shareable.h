// SPDX-License-Identifier: Apache-2.0
// What can go to another process as a file descriptor: an allocation of cuMemCreate, or a whole
// pool of cudaMallocAsync. An allocation can go to another host of its NVLink domain, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transports/native/cuda/driver.h"
#include "transports/native/fd.h"

namespace railgauge::cuda {

inline constexpr int kAsDescriptor = 1;    // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int kAsFabricHandle = 8;  // CU_MEM_HANDLE_TYPE_FABRIC
// Behind a step in messages.
inline constexpr const char* kWhatFabricTakes =
    " for NVLink between hosts (an IMEX channel in /dev/nvidia-caps-imex-channels, nvidia-imex "
    "READY on both hosts; NCCL_MNNVL_ENABLE=0 uses the network)";

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
  // Another host's allocation, by its CUmemFabricHandle, which is as long as an IpcHandle. Error
  // likewise.
  static Shareable imported(const IpcHandle& fabric, const std::string& what);
  Shareable(Shareable&& other) noexcept;
  Shareable& operator=(Shareable&&) = delete;
  ~Shareable();

  ShareableKind kind() const { return kind_; }
  MemoryHandle handle() const { return handle_; }
  // Whether it was made to be exported as a descriptor, or as a fabric handle.
  bool can_be_exported(int as = kAsDescriptor) const;
  // A descriptor of it; Error (kSystem).
  Fd exported() const;
  // A handle for other hosts, for as long as it lives here or there; Error (kSystem).
  IpcHandle fabric_handle() const;

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
