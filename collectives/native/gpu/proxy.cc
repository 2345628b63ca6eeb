// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/proxy.h"

#include <chrono>
#include <cstring>

#include "transports/native/clock.h"
#include "transports/native/error.h"
#include "transports/native/waiting.h"

namespace railgauge::gpu {

namespace {

constexpr int kKinds = 2;  // of connections in a staging buffer: inputs and results
constexpr std::uint32_t kCredit = 1u << 31;  // in a tag: how many messages were read
constexpr auto kNap = std::chrono::microseconds(50);
constexpr unsigned kCoresToSpare = 8;

std::chrono::nanoseconds spin() {
  using namespace std::chrono_literals;
  return std::thread::hardware_concurrency() < kCoresToSpare ? 20us : 2ms;
}

std::uint32_t load(const std::uint32_t& word) {
  return std::atomic_ref(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}
void store(std::uint32_t& word, std::uint32_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace

GpuProxy::GpuProxy(const Layout& layout, int proxy, int proxies, std::vector<Route> routes,
                   std::shared_ptr<Doorbell> doorbell, Status* status)
    : layout_(layout),
      routes_(std::move(routes)),
      doorbell_(std::move(doorbell)),
      status_(status),
      of_kind_((layout.blocks + proxies - 1 - proxy) / proxies) {
  for (Route& route : routes_) {
    for (int kind = 0; kind < kKinds; ++kind) {
      const std::size_t at = kind ? layout.share_at() : 0;
      for (int number = 0; number < of_kind_; ++number) {
        const std::uint32_t block = proxy + number * proxies;
        const std::size_t slots = layout.slots_of(kind, block);
        streams_.push_back({&route, static_cast<std::uint32_t>(kind * of_kind_ + number),
                            reinterpret_cast<Progress*>(route.in + at) + block,
                            reinterpret_cast<Progress*>(route.out + at) + block,
                            route.in_slots + slots, route.out_slots + slots, slots,
                            route.to[number % route.to.size()].get()});
      }
    }
  }
  thread_ = std::thread([this] { run(); });
}

GpuProxy::~GpuProxy() {
  stop_ = true;
  thread_.join();
}

void GpuProxy::fail(int rank, const char* problem) {
  problem_ = problem;
  failed_.store(true, std::memory_order_release);
  store(status_->failed, 1 + rank);
}

void GpuProxy::run() {
  auto moved = Clock::now();
  const auto patience = spin();
  while (!stop_.load(std::memory_order_relaxed)) {
    int rank = -1;
    try {
      if (Attendant* attendant = doorbell_->attendant()) attendant->attend();
      bool any = carry_all();
      for (Route& route : routes_) {
        rank = route.rank;
        for (const auto& from : route.from) any |= deliver(route, *from);
      }
      if (any || woken_.exchange(false, std::memory_order_relaxed)) moved = Clock::now();
    } catch (const PeerLost& lost) {
      return fail(lost.rank(), lost.what());
    } catch (const std::exception& error) {
      return fail(std::max(rank, 0), error.what());
    }
    if (Clock::now() - moved < patience) {
      Waiting::relax();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

bool GpuProxy::carry_all() {
  bool any = false;
  for (Stream& stream : streams_) any |= carry(stream);
  return any;
}

bool GpuProxy::carry(Stream& stream) {
  bool any = false;
  const std::uint32_t read = load(stream.out->free);
  if (read != stream.read) {
    if (std::byte* credit = stream.to->acquire()) {
      std::memcpy(credit, &read, sizeof read);
      stream.to->post(sizeof read, kCredit | stream.tag);
      stream.read = read;
      any = true;
    }
  }
  for (const std::uint32_t there = load(stream.out->there); stream.carried != there;) {
    if (!stream.to->acquire()) break;
    const std::byte* data = stream.out_slots + slot(stream.carried);
    const std::size_t bytes = stream.out->bytes[stream.carried % kSlots];
    if (stream.to->aims()) {
      stream.to->put(data, bytes, stream.at + slot(stream.carried), stream.tag);
    } else {
      stream.to->lend(data, bytes, stream.tag);
    }
    ++stream.carried;
    any = true;
  }
  return any;
}

bool GpuProxy::deliver(Route& route, Receiver& from) {
  bool any = false;
  for (Message message = from.front(); message.data; message = from.front()) {
    const std::size_t number = message.tag & ~kCredit, first = &route - routes_.data();
    if (number >= std::size_t(kKinds) * of_kind_ || message.bytes > layout_.slot_bytes) {
      throw Error(ErrorCode::kMismatch, "rank " + std::to_string(route.rank) +
                                            " sent a message that this version does not know");
    }
    Stream& stream = streams_[first * kKinds * of_kind_ + number];
    if (message.tag & kCredit) {
      std::uint32_t read;
      std::memcpy(&read, message.data, sizeof read);
      store(stream.in->free, read);
    } else {
      std::byte* place = stream.in_slots + slot(stream.arrived);
      if (message.data != place && route.in_gpu) {
        throw Error(ErrorCode::kMismatch, "rank " + std::to_string(route.rank) +
                                              " sent a message outside its slot in GPU memory");
      }
      if (message.data != place) {
        std::memcpy(place, message.data, message.bytes);
      } else if (route.flush) {
        route.flush->run();
      }
      store(stream.in->there, ++stream.arrived);
    }
    from.pop();
    any = true;
  }
  return any;
}

}  // namespace railgauge::gpu
