// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/nccl_plugin/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace railgauge::nccl_plugin {
namespace {

constexpr std::uint32_t kDefaultMib = 64, kMostMib = 4096, kMostTries = 100;

std::uint32_t number_of(const char* variable, std::uint32_t otherwise, std::uint32_t most) {
  const char* text = getenv(variable);
  if (!text || !*text) return otherwise;
  char* rest;
  const unsigned long value = strtoul(text, &rest, 10);
  return *rest || value < 1 || value > most ? otherwise : static_cast<std::uint32_t>(value);
}

std::uint32_t level_of(const char* text) {
  constexpr const char* kLevels[] = {"call", "op", "channel", "net"};
  for (std::uint32_t i = 0; text && i < 4; ++i)
    if (!strcmp(text, kLevels[i])) return i + kLevelCall;
  return kLevelOp;
}

std::int32_t first_number(const char* const (&variables)[4]) {
  for (const char* variable : variables)
    if (const char* text = getenv(variable); text && *text) return atoi(text);
  return -1;
}

// The first line of a file, cut to fit.
void read_line(const char* path, char* line, std::size_t bytes) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t got = read(fd, line, bytes - 1);
  close(fd);
  line[got > 0 ? strcspn(line, "\n") : 0] = 0;
}

// A host's name is part of a file's: nothing else than what names have.
void plain_host(char* host) {
  for (; *host; ++host)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", *host))
      *host = '_';
}

}  // namespace

Recording* Recording::of_process(const char** why) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static constinit Recording recordings[2];  // a forked child that uses NCCL gets its own
  static int opened = 0;
  static pid_t owner = 0;
  static bool works = false;
  static const char* failure = nullptr;
  pthread_mutex_lock(&mutex);
  if (owner != getpid() && opened < 2) {
    owner = getpid();
    const char* folder = getenv("RAILGAUGE_NCCL_RECORD");
    failure = "RAILGAUGE_NCCL_RECORD is not set";
    works = folder && *folder && recordings[opened].open(folder, &failure);
    ++opened;
  }
  *why = failure;
  Recording* found = works && owner == getpid() ? &recordings[opened - 1] : nullptr;
  pthread_mutex_unlock(&mutex);
  return found;
}

bool Recording::open(const char* folder, const char** why) {
  char host[64] = {}, path[4096];
  gethostname(host, sizeof host - 1);
  plain_host(host);
  mkdir(folder, 0777);  // its parents have to be there
  for (std::uint32_t i = 0; fd_ < 0 && i < kMostTries; ++i) {
    const int length = snprintf(path, sizeof path, i ? "%s/%s.%d-%u.nccl" : "%s/%s.%d.nccl", folder,
                                host, getpid(), i);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) break;
    fd_ = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  *why = "cannot make a file in the folder of RAILGAUGE_NCCL_RECORD";
  if (fd_ < 0) return false;
  *why = "no room for the header of the recording";
  if (posix_fallocate(fd_, 0, kRingOffset)) return false;
  void* map = mmap(nullptr, kRingOffset, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) return false;
  header_ = static_cast<FileHeader*>(map);
  tables_ = reinterpret_cast<Tables*>(static_cast<char*>(map) + kHeaderBytes);
  memcpy(header_->host, host, sizeof host);
  describe_process();
  header_->magic.store(kMagic, std::memory_order_release);  // from here on it can be read
  *why = nullptr;
  return true;
}

void Recording::describe_process() {
  header_->version = kVersion;
  header_->ring_offset = kRingOffset;
  header_->record_bytes = sizeof(Record);
  header_->level = level_of(getenv("RAILGAUGE_NCCL_LEVEL"));
  header_->every = number_of("RAILGAUGE_NCCL_EVERY", 1, 1 << 20);
  header_->pid = getpid();
  header_->job_rank = first_number({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
  header_->job_size =
      first_number({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  read_line("/proc/sys/kernel/random/boot_id", header_->boot_id, sizeof header_->boot_id);
  read_line("/proc/self/comm", header_->program, sizeof header_->program);
  header_->monotonic_ns = now_ns();
  header_->realtime_ns = now_ns(CLOCK_REALTIME);
  mark_clocks();
}

void Recording::mark_clocks() {
  header_->last_monotonic_ns = now_ns();
  header_->last_realtime_ns = now_ns(CLOCK_REALTIME);
}

bool Recording::make_ring(const char** why) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  bool made = ring_ != nullptr;
  if (!made) {
    const std::size_t bytes = std::size_t{number_of("RAILGAUGE_NCCL_MIB", kDefaultMib, kMostMib)}
                              << 20;
    *why = "no room for the records: RAILGAUGE_NCCL_MIB says how many MiB";
    // Taken at once: a page that a full disk does not give would end the job with SIGBUS.
    if (!posix_fallocate(fd_, kRingOffset, bytes)) {
      void* map =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, kRingOffset);
      if (map != MAP_FAILED) {
        capacity_ = bytes / sizeof(Record);
        header_->capacity = capacity_;
        ring_.store(static_cast<Record*>(map), std::memory_order_release);
        made = true;
        *why = nullptr;
      }
    }
  }
  pthread_mutex_unlock(&mutex);
  return made;
}

std::uint64_t Recording::begin(const NewRecord& entry) {
  Record* ring = ring_.load(std::memory_order_acquire);
  if (!ring) return 0;
  const std::uint64_t start = now_ns();
  const std::uint64_t index = header_->written.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t turn = index / capacity_;
  Record& record = ring[index % capacity_];
  std::uint64_t before = record.sequence.load(std::memory_order_relaxed);
  // Who is lapped while it writes keeps its place: the newer event is refused, and no record is two
  // halves.
  if ((before & kBusy) || !record.sequence.compare_exchange_strong(before, kBusy | (index + 1),
                                                                   std::memory_order_acquire)) {
    header_->refused.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(entry.kind),
                                 entry.flags,
                                 entry.function,
                                 entry.dtype,
                                 entry.algorithm,
                                 entry.protocol,
                                 entry.channels,
                                 entry.communicator};
  std::uint64_t what;
  memcpy(&what, bytes, sizeof what);
  record.start_ns.store(start, std::memory_order_relaxed);
  record.end.store(turn << 48, std::memory_order_relaxed);
  record.parent.store(entry.parent, std::memory_order_relaxed);
  record.what.store(what, std::memory_order_relaxed);
  record.a.store(entry.a, std::memory_order_relaxed);
  record.b.store(entry.b, std::memory_order_relaxed);
  record.c.store(entry.c, std::memory_order_relaxed);
  record.sequence.store(index + 1, std::memory_order_release);
  return index + 1;
}

Record* Recording::find(std::uint64_t number) {
  Record* ring = ring_.load(std::memory_order_acquire);
  if (!ring || !number || number & kBusy) return nullptr;
  Record* record = &ring[(number - 1) % capacity_];
  return record->sequence.load(std::memory_order_acquire) == number ? record : nullptr;
}

void Recording::end(std::uint64_t number) {
  Record* record = find(number);
  if (!record) return;
  const std::uint64_t took = now_ns() - record->start_ns.load(std::memory_order_relaxed);
  // The turn is part of what is compared: a record that came in its place meanwhile is not ended.
  std::uint64_t open = (number - 1) / capacity_ << 48;
  record->end.compare_exchange_strong(open, open | (took < kDuration ? took + 1 : kDuration),
                                      std::memory_order_release, std::memory_order_relaxed);
}

std::uint8_t Recording::name(Table table, const char* text) {
  if (!text) return kNone;
  auto& named = named_[static_cast<int>(table)];
  auto& names = tables_->names[static_cast<int>(table)];
  std::uint8_t i = 0;
  for (; i < kNames; ++i) {
    if (!named[i].load(std::memory_order_acquire)) break;
    if (!strncmp(names[i], text, kNameBytes - 1)) return i;
  }
  while (naming_.test_and_set(std::memory_order_acquire)) {
  }
  for (; i < kNames; ++i) {
    if (!named[i].load(std::memory_order_relaxed)) {
      strncpy(names[i], text, kNameBytes - 1);
      named[i].store(true, std::memory_order_release);
      break;
    }
    if (!strncmp(names[i], text, kNameBytes - 1)) break;
  }
  naming_.clear(std::memory_order_release);
  return i < kNames ? i : kNone;
}

std::uint8_t Recording::open_communicator() {
  for (std::size_t i = 0; i < kCommunicators; ++i) {
    std::uint32_t free = 0;
    if (tables_->communicators[i].state.compare_exchange_strong(free, 1)) {
      tables_->communicators[i].begun_ns = now_ns();
      return static_cast<std::uint8_t>(i);
    }
  }
  return kNone;
}

}  // namespace railgauge::nccl_plugin
