// SPDX-License-Identifier: Apache-2.0
#include "transports/native/shm/registered_memory.h"

#include <algorithm>

#include "transports/native/error.h"
#include "transports/native/shm/placement.h"

namespace railgauge::shm {

std::string RegisteredMemory::make(std::size_t size) {
  registrations_.push_back({settled_, Segment::create_resident(size), {}});
  return registrations_.back().own->descriptor();
}

std::shared_ptr<Segment> RegisteredMemory::open(const std::vector<std::string>& descriptors) {
  Registration& registration = registrations_.back();
  for (const std::string& descriptor : descriptors) {
    registration.peers.push_back(descriptor.empty() ? nullptr : Segment::open(descriptor));
  }
  return registration.own;
}

void RegisteredMemory::settle() {
  ++settled_;
  registrations_.back().own->close_descriptor();
}

std::vector<std::int64_t> RegisteredMemory::unused() const {
  std::vector<std::int64_t> numbers;
  for (const Registration& registration : registrations_) {
    if (registration.own.use_count() == 1) numbers.push_back(registration.number);
  }
  return numbers;
}

void RegisteredMemory::release(const std::vector<std::int64_t>& numbers) {
  std::erase_if(registrations_, [&](const Registration& registration) {
    return std::find(numbers.begin(), numbers.end(), registration.number) != numbers.end();
  });
}

std::size_t RegisteredMemory::bytes() const {
  std::size_t all = 0;
  for (const Registration& registration : registrations_) all += registration.own->size();
  return all;
}

std::size_t RegisteredMemory::bytes_in_huge_pages() const {
  std::size_t all = 0;
  for (const Registration& registration : registrations_)
    all += huge_bytes(registration.own->data());
  return all;
}

Reference RegisteredMemory::refer(const std::byte* data, std::size_t bytes) const {
  for (const Registration& registration : registrations_) {
    const std::byte* begin = registration.own->data();
    if (begin <= data && data + bytes <= begin + registration.own->size()) {
      return {registration.number, static_cast<std::uint64_t>(data - begin)};
    }
  }
  return {Reference::kNotRegistered, reinterpret_cast<std::uint64_t>(data)};
}

std::byte* RegisteredMemory::find(const Reference& reference, int position,
                                  std::size_t bytes) const {
  for (const Registration& registration : registrations_) {
    if (registration.number != reference.registration) continue;
    const auto& peer = registration.peers[position];
    const Segment& there = peer ? *peer : *registration.own;
    if (reference.at > there.size() || bytes > there.size() - reference.at) break;
    return there.data() + reference.at;
  }
  throw Error(ErrorCode::kInvalid, "a peer refers to memory that is not registered");
}

}  // namespace railgauge::shm
