// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/proxy.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace railgauge::ib {

namespace {

constexpr std::uint32_t kLooksPerClock = 64;
constexpr int kEvents = 16;
constexpr std::chrono::milliseconds kPause{1};  // between two polls, at the end
// After a failure this end reports to the peers that it closes, for at most this long.
constexpr std::chrono::nanoseconds kFarewell = std::chrono::milliseconds(100);

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw system_error("watching an RDMA device");
  }
}

// At the end: a device that refuses ends only its own connection.
template <class Body>
bool tried(Link& link, Body body) {
  try {
    return body(link);
  } catch (const std::exception& error) {
    link.give_up(error.what());
    return false;
  }
}

}  // namespace

Proxy::Proxy(std::shared_ptr<Doorbell> doorbell, std::chrono::nanoseconds linger)
    : doorbell_(std::move(doorbell)),
      linger_(linger),
      end_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      bell_(epoll_create1(EPOLL_CLOEXEC)) {
  if (end_.get() < 0 || bell_.get() < 0) throw system_error("starting a rank's proxy");
  watch(bell_.get(), end_.get());
}

CompletionChannels Proxy::channels(const Rails& rails) {
  std::lock_guard lock(watched_);
  CompletionChannels found;
  for (const auto& rail : rails) {
    auto known = std::find_if(channels_.begin(), channels_.end(),
                              [&](const auto& channel) { return channel->rail() == rail; });
    if (known != channels_.end()) {
      found.push_back(*known);
      continue;
    }
    prepare_events(*rail);
    watch(bell_.get(), rail->context()->async_fd);
    found.push_back(std::make_shared<CompletionChannel>(rail));
    watch(bell_.get(), found.back()->fd());
    channels_.push_back(found.back());
    registrations_.extend(rail);
  }
  return found;
}

Proxy::~Proxy() {
  close();
  if (doorbell_->attendant() == this) doorbell_->attach(nullptr);
}

void Proxy::add(std::shared_ptr<Link> link) {
  Attendant* other = doorbell_->attendant();
  if (other != nullptr && other != this) {
    throw Error(ErrorCode::kInvalid, "a doorbell already has a proxy for network connections");
  }
  links_.push_back(std::move(link));
  doorbell_->attach(this);
  if (!ringer_.joinable()) ringer_ = std::thread([this] { ring_for_sleeper(); });
}

void Proxy::register_memory(const std::byte* data, std::size_t bytes, unsigned access,
                            std::shared_ptr<const DmaBuf> exported) {
  registrations_.add(rails_of(channels_), data, bytes, access, std::move(exported));
}

void Proxy::deregister_memory(const std::byte* data, std::size_t bytes) {
  registrations_.remove(data, bytes);
}

const Region& Proxy::registered(const std::byte* data, std::size_t bytes, unsigned access) const {
  if (const Region* region = registrations_.find(data, bytes, access)) return *region;
  throw Error(ErrorCode::kInvalid,
              registrations_.find(data, bytes) != nullptr
                  ? "this memory is registered with RDMA devices, but for reading "
                    "only"
                  : "this memory is not registered with RDMA devices");
}

void Proxy::close() {
  if (closed_) return;
  closed_ = true;
  if (!failure_.happened()) flush();
  eventfd_write(end_.get(), 1);
  if (ringer_.joinable()) ringer_.join();
  for (auto& link : links_) link->close();
}

void Proxy::flush() {
  for (auto& link : links_) {
    tried(*link, [](Link& one) { return one.say_bye(), true; });
  }
  const Clock::time_point begun = Clock::now();
  auto all = [](auto& link) { return link->drained(); };
  while (!std::all_of(links_.begin(), links_.end(), all)) {
    const bool in_haste = aborted_ || gave_up_;
    if (Clock::now() - begun > (in_haste ? kFarewell : linger_)) return;
    bool moved = false;
    for (auto& link : links_) moved |= tried(*link, [](Link& one) { return one.move(); });
    if (!moved) std::this_thread::sleep_for(kPause);
  }
}

bool Proxy::attend() {
  if (gave_up_) return false;
  bool moved = false;
  for (auto& link : links_) moved |= link->move();
  if (++looks_ % kLooksPerClock == 0) probe();
  return moved;
}

int Proxy::unsettled() const {
  for (const auto& link : links_) {
    if (!link->lends()) continue;
    if (link->health().state()) link->health().raise();
    return link->health().peer();
  }
  return -1;
}

void Proxy::arm() {
  if (gave_up_) return;
  probe();
  for (auto& link : links_) link->arm();
}

void Proxy::probe() {
  const Clock::time_point now = Clock::now();
  for (auto& link : links_) link->probe(now);
}

void Proxy::ring_for_sleeper() {
  epoll_event events[kEvents];
  while (true) {
    const int count = epoll_wait(bell_.get(), events, kEvents, -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == end_.get()) return;
    }
    std::lock_guard lock(watched_);
    for (auto& channel : channels_) {
      const int fds[] = {channel->fd(), channel->rail()->context()->async_fd};
      const bool hung_up = std::any_of(events, events + std::max(count, 0), [&](const auto& event) {
        return (event.events & (EPOLLERR | EPOLLHUP)) != 0 &&
               std::find(std::begin(fds), std::end(fds), event.data.fd) != std::end(fds);
      });
      channel->take_events();
      if (!take_events(*channel->rail(), failure_) || hung_up) lose(*channel);
    }
    if (count > 0) doorbell_->ring();
  }
}

// Its descriptors would stay readable forever.
void Proxy::lose(const CompletionChannel& channel) {
  const Rail& rail = *channel.rail();
  failure_.tell(rail.name() +
                " of this rank is gone: was the device or its driver removed (dmesg)?");
  for (int fd : {channel.fd(), rail.context()->async_fd}) {
    epoll_ctl(bell_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }
}

}  // namespace railgauge::ib
