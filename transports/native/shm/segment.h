// SPDX-License-Identifier: Apache-2.0
// Memory shared between processes of one host. A segment is a memfd: it has no name in any file
// system, so nothing is left behind when its owners end, and its size is not limited by /dev/shm. A
// peer opens it through the owner's /proc entry (proc(5), /proc/[pid]/fd).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace railgauge::shm {

class Segment {
 public:
  // `size` zeroed bytes. Throws Error(kSystem).
  static std::unique_ptr<Segment> create(std::size_t size);
  // At least `size` bytes, all allocated at once: no write to them can raise SIGBUS. In huge pages
  // if some are reserved (hugetlbfs) or shared memory can use them (shmem_enabled of
  // transparent_hugepage is advise, within_size or always), and on the NUMA node of this thread's
  // cores. Throws Error(kSystem).
  static std::unique_ptr<Segment> create_resident(std::size_t size);
  // A peer's segment, by its descriptor(). Throws Error(kPeerLost) when the process is gone,
  // Error(kSystem) when it cannot be reached or mapped (another user, too little address space),
  // Error(kInvalid) when it is not the one described (another pid namespace).
  static std::unique_ptr<Segment> open(const std::string& descriptor);
  // The process that made the segment of a descriptor. Throws Error(kInvalid).
  static int owner(const std::string& descriptor);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  // "pid:fd:size:inode", for open() in another process of this host. For the one that create()
  // made.
  std::string descriptor() const;
  // No further peer will open it: closes its file descriptor.
  void close_descriptor();

 private:
  Segment(int fd, std::size_t size);
  static std::unique_ptr<Segment> create_in_huge_pages(std::size_t size);
  void settle();

  int fd_;  // -1 in a segment that was opened
  std::size_t size_;
  std::byte* data_;
};

}  // namespace railgauge::shm
