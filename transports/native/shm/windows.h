// SPDX-License-Identifier: Apache-2.0
// Windows: memory of each rank that all ranks of the host map, for the caller's arrays. What lies
// in one is read and written by the others where it is. Windows are made by all ranks together, so
// that a number names one of every rank's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transports/native/shm/segment.h"

namespace railgauge::shm {

// Where memory of a rank lies, in words that its peers understand.
struct Reference {
  static constexpr std::int64_t kNoWindow = -1;
  std::int64_t window;  // of that number; kNoWindow: anywhere in the process
  std::uint64_t at;     // bytes from the window's begin; or the address
};

class Windows {
 public:
  Windows() = default;
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // Makes this rank's part of the next window; its descriptor, for the peers. Throws
  // Error(kSystem).
  std::string make(std::size_t size);
  // Maps the peers' parts of what make() began, by position; "" for the own. It is in use as long
  // as somebody holds what is returned. Throws Error.
  std::shared_ptr<Segment> open(const std::vector<std::string>& descriptors);
  // All ranks have opened their parts: it has its number, and takes no file descriptor any more.
  void settle();
  // Some rank could not make or open its part: there is no such window.
  void drop() { release({settled_}); }

  // The windows that nobody here uses any more. What is unused on all ranks may be released on all.
  std::vector<std::int64_t> unused() const;
  void release(const std::vector<std::int64_t>& numbers);
  // All of them; what somebody here still holds stays his.
  void close() { windows_.clear(); }
  bool empty() const { return windows_.empty(); }
  // Bytes of the own parts, and how many of them lie in huge pages.
  std::size_t bytes() const;
  std::size_t bytes_in_huge_pages() const;

  // How the peers find memory of this rank.
  Reference refer(const std::byte* data, std::size_t bytes) const;
  // Where memory that the peer at `position` referred to is here. Throws Error(kInvalid) for what
  // is in no window.
  std::byte* find(const Reference& reference, int position, std::size_t bytes) const;

 private:
  struct Window {
    std::int64_t number;
    std::shared_ptr<Segment> own;
    std::vector<std::unique_ptr<Segment>> peers;  // by position; null for the own one
  };

  std::int64_t settled_ = 0;  // windows so far; the next one's number
  std::vector<Window> windows_;
};

}  // namespace railgauge::shm
