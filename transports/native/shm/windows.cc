// SPDX-License-Identifier: Apache-2.0
#include "transports/native/shm/windows.h"

#include <algorithm>

#include "transports/native/error.h"
#include "transports/native/shm/placement.h"

namespace railgauge::shm {

std::string Windows::make(std::size_t size) {
  windows_.push_back({settled_, Segment::create_resident(size), {}});
  return windows_.back().own->descriptor();
}

std::shared_ptr<Segment> Windows::open(const std::vector<std::string>& descriptors) {
  Window& window = windows_.back();
  for (const std::string& descriptor : descriptors) {
    window.peers.push_back(descriptor.empty() ? nullptr : Segment::open(descriptor));
  }
  return window.own;
}

void Windows::settle() {
  ++settled_;
  windows_.back().own->close_descriptor();
}

std::vector<std::int64_t> Windows::unused() const {
  std::vector<std::int64_t> numbers;
  for (const Window& window : windows_) {
    if (window.own.use_count() == 1) numbers.push_back(window.number);
  }
  return numbers;
}

void Windows::release(const std::vector<std::int64_t>& numbers) {
  std::erase_if(windows_, [&](const Window& window) {
    return std::find(numbers.begin(), numbers.end(), window.number) != numbers.end();
  });
}

std::size_t Windows::bytes() const {
  std::size_t all = 0;
  for (const Window& window : windows_) all += window.own->size();
  return all;
}

std::size_t Windows::bytes_in_huge_pages() const {
  std::size_t all = 0;
  for (const Window& window : windows_) all += huge_bytes(window.own->data());
  return all;
}

Reference Windows::refer(const std::byte* data, std::size_t bytes) const {
  for (const Window& window : windows_) {
    const std::byte* begin = window.own->data();
    if (begin <= data && data + bytes <= begin + window.own->size()) {
      return {window.number, static_cast<std::uint64_t>(data - begin)};
    }
  }
  return {Reference::kNoWindow, reinterpret_cast<std::uint64_t>(data)};
}

std::byte* Windows::find(const Reference& reference, int position, std::size_t bytes) const {
  for (const Window& window : windows_) {
    if (window.number != reference.window) continue;
    const auto& peer = window.peers[position];
    const Segment& there = peer ? *peer : *window.own;
    if (reference.at > there.size() || bytes > there.size() - reference.at) break;
    return there.data() + reference.at;
  }
  throw Error(ErrorCode::kInvalid, "a peer refers to memory that is not registered");
}

}  // namespace railgauge::shm
