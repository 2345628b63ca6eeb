// SPDX-License-Identifier: Apache-2.0
// A socket's FIFO without Python, over TCP on the loopback: messages of every length in order while
// both ends run freely, a slow reader, ends that close, break off, or send what is no message, and
// what a proxy's end leaves behind. Made for sanitizers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "transports/native/error.h"
#include "transports/native/socket/connection.h"

namespace railgauge {
namespace {

using namespace std::chrono_literals;
using socket::End;
using socket::Proxy;
using socket::SocketReceiver;
using socket::SocketSender;

#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (0)

constexpr std::uint32_t kSlots = 3, kSlotBytes = 256;

struct Pair {
  int left, right;
  Pair() {
    int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(listen(listener, 1) == 0);
    REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    left = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(connect(left, reinterpret_cast<sockaddr*>(&address), length) == 0);
    right = accept(listener, nullptr, nullptr);
    REQUIRE(right >= 0);
    close(listener);
  }
};

End end(int fd, int peer) { return {fd, peer, "127.0.0.1:1", "NET/Socket/0", kSlots, kSlotBytes}; }

// One rank with a single connection.
template <typename Kind>
struct Rank {
  std::shared_ptr<Doorbell> doorbell = Doorbell::create();
  std::shared_ptr<Proxy> proxy;
  std::unique_ptr<Kind> connection;

  Rank(int fd, int peer, std::chrono::nanoseconds linger = 10s)
      : proxy(std::make_shared<Proxy>(doorbell, linger)),
        connection(std::make_unique<Kind>(proxy, end(fd, peer))) {}

  // Waits as the executor does: polls, then sleeps on the doorbell, but no longer than `limit`.
  bool wait(const std::function<bool()>& ready, std::chrono::nanoseconds limit = 10s) {
    auto until = std::chrono::steady_clock::now() + limit;
    while (!ready()) {
      if (std::chrono::steady_clock::now() > until) return false;
      auto ticket = doorbell->prepare_to_sleep();
      if (ready()) {
        doorbell->stay_awake();
        return true;
      }
      doorbell->sleep(ticket, limit);
    }
    return true;
  }
};

std::size_t length_of(std::uint64_t message) { return message * 37 % (kSlotBytes + 1); }

void send(Rank<SocketSender>& rank, std::uint64_t message) {
  REQUIRE(rank.wait([&] { return rank.connection->acquire() != nullptr; }));
  std::memset(rank.connection->acquire(), static_cast<int>(message % 251), length_of(message));
  rank.connection->post(length_of(message));
}

void receive(Rank<SocketReceiver>& rank, std::uint64_t message) {
  REQUIRE(rank.wait([&] { return rank.connection->front().data != nullptr; }));
  Message got = rank.connection->front();
  REQUIRE(got.bytes == length_of(message));
  for (std::size_t i = 0; i < got.bytes; ++i) {
    REQUIRE(got.data[i] == static_cast<std::byte>(message % 251));
  }
  rank.connection->pop();
}

void messages_arrive_whole_and_in_order(std::chrono::microseconds pause) {
  Pair pair;
  const std::uint64_t count = pause > 0us ? 2000 : 20000;
  std::thread sending([&] {
    Rank<SocketSender> rank(pair.left, 1);
    for (std::uint64_t i = 0; i < count; ++i) send(rank, i);
  });
  Rank<SocketReceiver> rank(pair.right, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (pause > 0us && i % 100 == 0) std::this_thread::sleep_for(pause);
    receive(rank, i);
  }
  sending.join();
}

// The peer whose connection ended, and what was said; nothing is allowed to take `limit` to notice.
std::string lost(const std::function<bool()>& body) {
  try {
    body();
  } catch (const PeerLost& error) {
    REQUIRE(error.rank() == 7);
    return error.what();
  }
  return "nothing";
}

bool says(const std::string& text, const char* what) {
  if (text.find(what) != std::string::npos) return true;
  std::fprintf(stderr, "'%s' does not say '%s'\n", text.c_str(), what);
  return false;
}

std::string lost_after(const void* bytes, std::size_t size) {
  Pair pair;
  Rank<SocketReceiver> rank(pair.right, 7);
  REQUIRE(::send(pair.left, bytes, size, 0) == static_cast<ssize_t>(size));
  close(pair.left);
  return lost([&] { return rank.wait([&] { return rank.connection->front().data != nullptr; }); });
}

void what_is_no_message_ends_the_connection() {
  REQUIRE(says(lost_after("GET / HTTP/1.1\r\n\r\n", 18), "no message"));
  std::uint32_t too_long[2] = {htonl(socket::kMagic), htonl(kSlotBytes + 1)};
  REQUIRE(says(lost_after(too_long, sizeof too_long), "no message"));
  std::uint32_t cut[3] = {htonl(socket::kMagic), htonl(8), 0};
  REQUIRE(says(lost_after(cut, sizeof cut), "in the middle of a message"));
  REQUIRE(says(lost_after(cut, 3), "in the middle of a message"));
  REQUIRE(says(lost_after(cut, 0), "127.0.0.1:1: it closed the connection"));
}

void a_message_before_the_end_is_still_read() {
  Pair pair;
  Rank<SocketReceiver> receiver(pair.right, 7);
  {
    Rank<SocketSender> sender(pair.left, 0);
    send(sender, 5);
  }
  receive(receiver, 5);
  REQUIRE(
      says(lost([&] { return receiver.wait([&] { return receiver.connection->front().data; }); }),
           "closed"));
}

void a_sender_learns_at_once_that_its_peer_closed() {
  Pair pair;
  Rank<SocketSender> sender(pair.left, 7);
  close(pair.right);
  REQUIRE(says(lost([&] {
                 return sender.wait([&] {
                   sender.connection->acquire();
                   return false;
                 });
               }),
               "closed"));
}

// Posts to a reader that takes nothing, until slots and kernel buffers are full and the sender gets
// no more; how many messages that is.
std::uint64_t fill(Rank<SocketSender>& sender) {
  const std::uint64_t plenty = 1 << 20;
  for (std::uint64_t i = 0; i < plenty; ++i) {
    if (!sender.wait([&] { return sender.connection->acquire() != nullptr; }, 300ms)) return i;
    sender.connection->post(kSlotBytes);
  }
  REQUIRE(!"a sender is never held back");
  return 0;
}

void what_was_posted_is_sent_before_the_end() {
  Pair pair;
  auto sender = std::make_unique<Rank<SocketSender>>(pair.left, 1, 20s);
  const std::uint64_t posted = fill(*sender);
  std::thread ending([&] { sender.reset(); });
  std::this_thread::sleep_for(100ms);
  Rank<SocketReceiver> receiver(pair.right, 0);
  for (std::uint64_t i = 0; i < posted; ++i) {
    REQUIRE(receiver.wait([&] { return receiver.connection->front().data != nullptr; }));
    REQUIRE(receiver.connection->front().bytes == kSlotBytes);
    receiver.connection->pop();
  }
  ending.join();
}

void an_abort_ends_a_proxy_that_has_much_to_send() {
  Pair pair;
  auto started = std::chrono::steady_clock::now();
  {
    Rank<SocketSender> sender(pair.left, 1, 60s);
    fill(sender);
    sender.proxy->abort();
  }
  REQUIRE(std::chrono::steady_clock::now() - started < 30s);
  close(pair.right);
}

void an_end_lingers_no_longer_than_it_may() {
  Pair pair;
  auto started = std::chrono::steady_clock::now();
  {
    Rank<SocketSender> sender(pair.left, 1, 200ms);
    fill(sender);
  }
  REQUIRE(std::chrono::steady_clock::now() - started < 30s);
  close(pair.right);
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  messages_arrive_whole_and_in_order(0us);
  messages_arrive_whole_and_in_order(500us);
  what_is_no_message_ends_the_connection();
  a_message_before_the_end_is_still_read();
  a_sender_learns_at_once_that_its_peer_closed();
  what_was_posted_is_sent_before_the_end();
  an_abort_ends_a_proxy_that_has_much_to_send();
  an_end_lingers_no_longer_than_it_may();
  std::puts("all passed");
}
