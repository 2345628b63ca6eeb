// SPDX-License-Identifier: Apache-2.0
#include "transports/native/shm/segment.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <map>
#include <mutex>
#endif

#include "transports/native/error.h"
#include "transports/native/shm/placement.h"

namespace railgauge::shm {

namespace {

struct stat status_of(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) throw system_error("fstat of a shared segment");
  return status;
}

#if defined(__SANITIZE_THREAD__)

// ThreadSanitizer knows memory by its address alone. Threads that are ranks of one process share
// one mapping of a segment here, so that their races in it show.
struct Mapping {
  void* at;
  std::size_t users;
};
std::mutex mutex;
std::map<unsigned long, Mapping> mappings;  // by inode

void* map_shared(int fd, std::size_t size) {
  std::lock_guard lock(mutex);
  Mapping& mapping = mappings[status_of(fd).st_ino];
  if (mapping.users++ == 0) {
    mapping.at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  return mapping.at;
}

void unmap_shared(void* at, std::size_t size) {
  std::lock_guard lock(mutex);
  for (auto found = mappings.begin(); found != mappings.end(); ++found) {
    if (found->second.at != at) continue;
    if (--found->second.users == 0) {
      munmap(at, size);
      mappings.erase(found);
    }
    return;
  }
}

#else

void* map_shared(int fd, std::size_t size) {
  return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
void unmap_shared(void* at, std::size_t size) { munmap(at, size); }

#endif

struct Described {
  int pid = 0, fd = 0;
  std::size_t size = 0;
  unsigned long inode = 0;
};

Described described(const std::string& descriptor) {
  Described it;
  if (std::sscanf(descriptor.c_str(), "%d:%d:%zu:%lu", &it.pid, &it.fd, &it.size, &it.inode) != 4) {
    throw Error(ErrorCode::kInvalid, "not a segment descriptor: '" + descriptor + "'");
  }
  return it;
}

std::string limit_of(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  getrlimit(resource, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "no limit" : std::to_string(limit.rlim_cur) + " bytes";
}

}  // namespace

std::unique_ptr<Segment> Segment::create(std::size_t size) {
  int fd = memfd_create("railgauge", MFD_CLOEXEC);
  if (fd < 0) throw system_error("memfd_create");
  if (ftruncate(fd, static_cast<off_t>(size)) != 0) {
    const Error error = system_error("sizing a shared segment to " + std::to_string(size) +
                                     " bytes (ulimit -f: " + limit_of(RLIMIT_FSIZE) + ")");
    close(fd);
    throw error;
  }
  return std::unique_ptr<Segment>(new Segment(fd, size));
}

std::unique_ptr<Segment> Segment::create_resident(std::size_t size) {
  const std::size_t unit = size >= kHugePage ? kHugePage : sysconf(_SC_PAGESIZE);
  const std::size_t rounded = std::max<std::size_t>(1, (size + unit - 1) / unit) * unit;
  auto segment = unit == kHugePage ? create_in_huge_pages(rounded) : nullptr;
  if (!segment) {
    segment = create(rounded);
    if (unit == kHugePage) madvise(segment->data_, rounded, MADV_HUGEPAGE);  // where it may
  }
  segment->settle();
  return segment;
}

void Segment::settle() {
  prefer_node(data_, size_, node_of_this_thread());
  populate(data_, size_);
}

// Null if too few huge pages are reserved: mapping reserves them for this segment.
std::unique_ptr<Segment> Segment::create_in_huge_pages(std::size_t size) {
  int fd = memfd_create("railgauge", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
  if (fd < 0) return nullptr;
  if (ftruncate(fd, static_cast<off_t>(size)) != 0) {
    close(fd);
    return nullptr;
  }
  try {
    std::unique_ptr<Segment> segment(new Segment(fd, size));
    segment->settle();
    return segment;
  } catch (const Error&) {
    return nullptr;
  }
}

std::unique_ptr<Segment> Segment::open(const std::string& descriptor) {
  const auto [pid, peer_fd, size, inode] = described(descriptor);
  std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(peer_fd);
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    const bool gone = errno == ENOENT;  // it has just died
    const Error error = system_error("opening the shared memory of process " + std::to_string(pid));
    throw Error(gone ? ErrorCode::kPeerLost : error.code(), error.what());
  }
  const struct stat status = status_of(fd);
  // A shorter one would end this process by SIGBUS.
  if (status.st_ino != inode || status.st_size < static_cast<off_t>(size)) {
    close(fd);
    throw Error(ErrorCode::kInvalid,
                path + " is not the peer's segment: is it in another pid namespace?");
  }
  std::unique_ptr<Segment> segment(new Segment(fd, size));
  segment->close_descriptor();  // the mapping is enough; only the owner's is opened by others
  return segment;
}

Segment::Segment(int fd, std::size_t size) : fd_(fd), size_(size) {
  void* at = map_shared(fd, size);
  if (at == MAP_FAILED) {
    const Error error = system_error("mapping a shared segment of " + std::to_string(size) +
                                     " bytes (ulimit -v: " + limit_of(RLIMIT_AS) + ")");
    close(fd);
    throw error;
  }
  data_ = static_cast<std::byte*>(at);
}

int Segment::owner(const std::string& descriptor) { return described(descriptor).pid; }

Segment::~Segment() {
  unmap_shared(data_, size_);
  close_descriptor();
}

void Segment::close_descriptor() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

std::string Segment::descriptor() const {
  return std::to_string(getpid()) + ":" + std::to_string(fd_) + ":" + std::to_string(size_) + ":" +
         std::to_string(status_of(fd_).st_ino);
}

}  // namespace railgauge::shm
