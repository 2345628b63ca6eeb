// SPDX-License-Identifier: Apache-2.0
// Operations between ranks of a host on the callers' memory itself, without a shared segment or
// slot between: in registered memory all ranks read and write each other's arrays; other memory
// they copy from, if the kernel allows it (cross-memory attach). The ranks exchange their arrays'
// addresses, move the data, and wait until all are done.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/native/direct.h"
#include "collectives/native/operation.h"
#include "transports/native/shm/shared_segment.h"
#include "transports/native/waiting.h"

namespace railgauge {

// Of how many bytes (Operation::bytes; 1 at least) a collective is tried so. All ranks have the
// same.
struct ZeroCopySizes {
  static constexpr std::size_t kNever = ~std::size_t{0};
  std::size_t registered_from = kNever;    // where all memory it needs lies in registered memory
  std::size_t cross_memory_from = kNever;  // where some of it does not,
  std::size_t cross_memory_below = 0;      // and it has fewer bytes than this
};

// One operation. All ranks of the shared segment make it, and call the same.
class ZeroCopy {
 public:
  // `stream` writes results past the caches.
  ZeroCopy(shm::SharedSegment& segment, Waiting& waiting, const Operation& operation,
           const Subject& subject, bool stream);

  // Whether it may be possible, so that ranks should exchange addresses.
  static bool worth_asking(const Operation& operation, const ZeroCopySizes& sizes,
                           shm::SharedSegment& segment);
  // Ranks exchange their arrays' addresses; returns whether they are accessible, the same on all
  // ranks. Throws Error.
  bool agree(const ZeroCopySizes& sizes);
  // Moves this rank's data, and returns once all ranks have: its arrays may be used again. Throws
  // Error.
  void run();

 private:
  // The addresses of one rank's arrays.
  struct Lent {
    shm::Reference source, destination;
  };

  void move();
  void meet();
  void take(int peer, std::size_t at, std::size_t to);
  void take_from_all(std::size_t at);
  void all_reduce();
  void reduce();
  void gather();
  void reduce_part(std::size_t at, std::size_t count, const std::vector<std::byte*>& outs);
  const std::byte* input(int peer, std::size_t at, std::size_t count, std::byte* room) const;
  void copy_from(int peer, const shm::Reference& array, std::size_t at, std::byte* out,
                 std::size_t count) const;
  std::byte* there(const shm::Reference& array, int peer, std::size_t at, std::size_t count) const;
  Extent extent_at(int position) const { return o_.extent(direct_.rank(position), ranks_); }
  int rank() const { return direct_.rank(position_); }
  int root() const { return direct_.position_of(o_.root); }

  shm::SharedSegment& segment_;
  const Operation& o_;
  Direct direct_;
  const int ranks_, position_;
  const std::size_t element_;
  std::vector<Lent> lent_;   // by position
  bool registered_ = false;  // all memory that others need
};

}  // namespace railgauge
