// SPDX-License-Identifier: Apache-2.0
// A connection's FIFO without Python, over TCP on the loopback: messages of every length in order
// while both ends run freely, a slow reader, ends that close, break off, or send what is no
// message, and what a proxy's end leaves behind; all with one socket that the rank moves, and with
// several and helper threads. Made for sanitizers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "tests/native/require.h"
#include "transports/native/error.h"
#include "transports/native/socket/connection.h"

namespace railgauge {
namespace {

using namespace std::chrono_literals;
using socket::End;
using socket::Proxy;
using socket::SocketReceiver;
using socket::SocketSender;

// How the connections of a test are made.
struct Shape {
  int sockets, threads;
  std::uint32_t slot_bytes = 256;
};
constexpr std::uint32_t kSlots = 3;
Shape shape{1, 0};

struct Pair {
  std::vector<int> left, right;
  Pair() {
    for (int i = 0; i < shape.sockets; ++i) add();
  }
  void add() {
    int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(listen(listener, 1) == 0);
    REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    left.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    REQUIRE(connect(left.back(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    right.push_back(accept(listener, nullptr, nullptr));
    REQUIRE(right.back() >= 0);
    close(listener);
  }
};

void close_all(const std::vector<int>& fds) {
  for (int fd : fds) close(fd);
}

End end(const std::vector<int>& fds, int peer) {
  return {fds, shape.threads, peer, "127.0.0.1:1", "NET/Socket/0", kSlots, shape.slot_bytes};
}

// One rank with a single connection.
template <typename Kind>
struct Rank {
  std::shared_ptr<Doorbell> doorbell = Doorbell::create();
  std::shared_ptr<Proxy> proxy;
  std::unique_ptr<Kind> connection;

  Rank(const std::vector<int>& fds, int peer, std::chrono::nanoseconds linger = 10s)
      : proxy(std::make_shared<Proxy>(doorbell, linger)),
        connection(std::make_unique<Kind>(proxy, end(fds, peer))) {}

  // Waits as waiting.h does: polls, then sleeps on the doorbell; one that does not ring is a
  // failure.
  bool wait(const std::function<bool()>& go_on, std::chrono::nanoseconds limit = 10s) {
    auto ready = [&] { return go_on() || (attends() && go_on()); };
    auto until = std::chrono::steady_clock::now() + limit;
    while (!ready()) {
      auto ticket = doorbell->prepare_to_sleep();
      if (ready()) {
        doorbell->stay_awake();
        return true;
      }
      doorbell->sleep(ticket, limit);
      if (std::chrono::steady_clock::now() >= until) return false;
    }
    return true;
  }
  bool attends() { return doorbell->attendant() && doorbell->attendant()->attend(); }
};

std::size_t length_of(std::uint64_t message) {
  return message * (shape.slot_bytes / 7 + 1) % (shape.slot_bytes + 1);
}
std::byte byte_of(std::uint64_t message, std::size_t at) {
  return static_cast<std::byte>((message * 31 + at / 5) % 251);
}
std::vector<std::byte> content_of(std::uint64_t message) {
  std::vector<std::byte> content(length_of(message));
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = byte_of(message, i);
  return content;
}

void send(Rank<SocketSender>& rank, std::uint64_t message) {
  REQUIRE(rank.wait([&] { return rank.connection->acquire() != nullptr; }));
  auto content = content_of(message);
  if (!content.empty()) std::memcpy(rank.connection->acquire(), content.data(), content.size());
  rank.connection->post(content.size(), static_cast<std::uint32_t>(message * 2654435761u));
}

void check(const Message& got, std::uint64_t message) {
  auto content = content_of(message);
  REQUIRE(got.bytes == content.size());
  REQUIRE(got.tag == static_cast<std::uint32_t>(message * 2654435761u));
  REQUIRE(content.empty() || std::memcmp(got.data, content.data(), content.size()) == 0);
}

void receive(Rank<SocketReceiver>& rank, std::uint64_t message) {
  REQUIRE(rank.wait([&] { return rank.connection->front().data != nullptr; }));
  check(rank.connection->front(), message);
  rank.connection->pop();
}

void messages_arrive_whole_and_in_order(std::chrono::microseconds pause) {
  Pair pair;
  const std::uint64_t count = shape.slot_bytes > 256 ? 200 : shape.threads > 0 ? 2000 : 20000;
  std::thread sending([&] {
    Rank<SocketSender> rank(pair.left, 1);
    for (std::uint64_t i = 0; i < count; ++i) send(rank, i);
  });
  Rank<SocketReceiver> rank(pair.right, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % (count / 20) == 0) std::this_thread::sleep_for(pause);
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
  REQUIRE(::send(pair.left[0], bytes, size, 0) == static_cast<ssize_t>(size));
  close_all(pair.left);
  return lost([&] { return rank.wait([&] { return rank.connection->front().data != nullptr; }); });
}

// As when the peer's host has rebooted, or something in between forgot the connection.
void a_reset_in_the_middle_of_a_message_ends_it() {
  Pair pair;
  Rank<SocketReceiver> rank(pair.right, 7);
  std::uint32_t begun[4] = {htonl(socket::kMagic), 0, htonl(shape.slot_bytes), 0};
  REQUIRE(::send(pair.left[0], begun, sizeof begun, 0) == sizeof begun);
  auto ready = [&] { return rank.connection->front().data != nullptr; };
  REQUIRE(!rank.wait(ready, 50ms));
  linger at_once{1, 0};
  REQUIRE(setsockopt(pair.left[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
  close(pair.left[0]);
  REQUIRE(says(lost([&] { return rank.wait(ready); }), "connection broke: Connection reset"));
  close_all({pair.left.begin() + 1, pair.left.end()});
}

void what_is_no_message_ends_the_connection() {
  REQUIRE(says(lost_after("GET / HTTP/1.1\r\n\r\n", 18), "an invalid message"));
  std::uint32_t too_long[4] = {htonl(socket::kMagic), 0, htonl(shape.slot_bytes + 1), 0};
  REQUIRE(says(lost_after(too_long, sizeof too_long), "an invalid message"));
  std::uint32_t cut[4] = {htonl(socket::kMagic), 0, htonl(8), 0};
  REQUIRE(says(lost_after(cut, sizeof cut), "in the middle of a message"));
  REQUIRE(says(lost_after(cut, 3), "in the middle of a message"));
  REQUIRE(says(lost_after(cut, 0), "127.0.0.1:1: it closed the connection"));
}

// So that what the kernel copies is aligned in the stream as it is in memory.
void a_piece_behind_one_of_any_length_begins_at_a_multiple_of_16() {
  Pair pair;
  std::vector<std::uint64_t> messages(2 * kSlots);
  {
    Rank<SocketSender> sender(pair.left, 1);
    for (std::uint64_t& message : messages) send(sender, message = 4 + (&message - &messages[0]));
  }
  std::vector<std::byte> stream(1 << 12);
  const ssize_t got = recv(pair.right[0], stream.data(), stream.size(), MSG_WAITALL);
  REQUIRE(got > 0 && got % 16 == 0);
  std::size_t at = 0;
  for (std::uint64_t message : messages) {
    const auto content = content_of(message);
    const socket::Frame frame = socket::Frame::unpacked(&stream[at]);
    REQUIRE(frame.magic == socket::kMagic && frame.length == content.size());
    at += 16;
    REQUIRE(std::equal(content.begin(), content.end(), &stream[at]));
    for (at += content.size(); at % 16 != 0; ++at) REQUIRE(stream[at] == std::byte{0});
  }
  REQUIRE(at == static_cast<std::size_t>(got));
  close_all(pair.right);
}

void a_message_before_the_end_is_still_read() {
  Pair pair;
  Rank<SocketReceiver> receiver(pair.right, 7);
  {
    Rank<SocketSender> sender(pair.left, 0);
    for (std::uint64_t message = 0; message < kSlots; ++message) send(sender, message);
  }
  std::this_thread::sleep_for(50ms);  // all of it and the ends are there before the first look
  for (std::uint64_t message = 0; message < kSlots; ++message) receive(receiver, message);
  REQUIRE(
      says(lost([&] { return receiver.wait([&] { return receiver.connection->front().data; }); }),
           "closed"));
}

void a_sender_learns_at_once_that_its_peer_closed() {
  Pair pair;
  Rank<SocketSender> sender(pair.left, 7);
  close_all(pair.right);
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
    sender.connection->post(shape.slot_bytes);
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
    REQUIRE(receiver.connection->front().bytes == shape.slot_bytes);
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
  close_all(pair.right);
}

void an_end_lingers_no_longer_than_it_may() {
  Pair pair;
  auto started = std::chrono::steady_clock::now();
  {
    Rank<SocketSender> sender(pair.left, 1, 200ms);
    fill(sender);
  }
  REQUIRE(std::chrono::steady_clock::now() - started < 30s);
  close_all(pair.right);
}

// The caller's memory serves as slot where the rank moves the socket, and is copied where a helper
// does.
void lent_memory_is_sent_and_a_preferred_place_filled() {
  Pair pair;
  auto content = content_of(6), place = std::vector<std::byte>(length_of(6));
  Rank<SocketSender> sender(pair.left, 1);
  Rank<SocketReceiver> receiver(pair.right, 0);
  for (int round = 0; round < 100; ++round) {
    REQUIRE(sender.wait([&] { return sender.connection->acquire() != nullptr; }));
    sender.connection->lend(content.data(), content.size(), 6 * 2654435761u);
    if (sender.doorbell->attendant()) {
      REQUIRE(sender.wait([&] { return sender.doorbell->attendant()->unsettled() < 0; }));
      std::fill(content.begin(), content.end(), std::byte{0});  // it is ours again
    }
    std::fill(place.begin(), place.end(), std::byte{0});
    receiver.connection->prefer(place.data(), place.size());
    REQUIRE(receiver.wait([&] { return receiver.connection->front().data != nullptr; }));
    check(receiver.connection->front(), 6);
    REQUIRE((receiver.connection->front().data == place.data()) == (shape.threads == 0));
    receiver.connection->pop();
    content = content_of(6);
  }
}

void a_place_for_another_length_is_left_alone() {
  Pair pair;
  Rank<SocketSender> sender(pair.left, 1);
  Rank<SocketReceiver> receiver(pair.right, 0);
  send(sender, 6);
  std::byte place[8]{};
  receiver.connection->prefer(place, sizeof place);
  receive(receiver, 6);
  for (std::byte byte : place) REQUIRE(byte == std::byte{0});
}

void after_a_failure_no_memory_is_touched() {
  Pair pair;
  Rank<SocketSender> sender(pair.left, 1, 60s);
  fill(sender);
  sender.proxy->give_up();
  auto started = std::chrono::steady_clock::now();
  sender.proxy->close();  // does not wait for what was posted
  REQUIRE(std::chrono::steady_clock::now() - started < 30s);
  close_all(pair.right);
}

void a_message_is_cut_into_pieces_that_cover_it_once() {
  for (std::size_t sockets : {1, 2, 3, 8, 64}) {
    std::vector<socket::Striping> all;
    for (std::size_t i = 0; i < sockets; ++i) all.emplace_back(i, sockets);
    std::vector<std::uint64_t> moved(sockets);
    for (std::size_t length : {0, 1, 65535, 65536, 65537, 200000, 262144, 4194304}) {
      std::vector<int> covered(length);
      for (std::size_t i = 0; i < sockets; ++i) {
        socket::Piece piece = all[i].next(length);
        for (std::size_t at = 0; at < piece.bytes; ++at) ++covered[piece.offset + at];
        REQUIRE(piece.bytes == length || sockets == 1 ||
                piece.bytes < std::max<std::size_t>(65536, length / sockets) + 16);
        REQUIRE(piece.offset % 16 == 0 || piece.bytes == 0);
      }
      for (int times : covered) REQUIRE(times == 1);
    }
    for (int message = 0; message < 64; ++message) {
      for (std::size_t i = 0; i < sockets; ++i) moved[i] += all[i].next(65536).bytes;
    }
    for (std::uint64_t bytes : moved) REQUIRE(bytes == 65536 * 64 / sockets || 64 % sockets != 0);
  }
}

void run_all() {
  std::printf("%d sockets, %d threads, slots of %u\n", shape.sockets, shape.threads,
              shape.slot_bytes);
  messages_arrive_whole_and_in_order(0us);
  messages_arrive_whole_and_in_order(500us);
  what_is_no_message_ends_the_connection();
  if (shape.sockets == 1) a_piece_behind_one_of_any_length_begins_at_a_multiple_of_16();
  a_reset_in_the_middle_of_a_message_ends_it();
  a_message_before_the_end_is_still_read();
  a_sender_learns_at_once_that_its_peer_closed();
  what_was_posted_is_sent_before_the_end();
  an_abort_ends_a_proxy_that_has_much_to_send();
  an_end_lingers_no_longer_than_it_may();
  lent_memory_is_sent_and_a_preferred_place_filled();
  a_place_for_another_length_is_left_alone();
  if (shape.threads == 0) after_a_failure_no_memory_is_touched();
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  a_message_is_cut_into_pieces_that_cover_it_once();
  for (Shape each :
       {Shape{1, 0}, Shape{1, 1}, Shape{3, 2}, Shape{2, 0, 256 << 10}, Shape{4, 4, 256 << 10}}) {
    shape = each;
    run_all();
  }
  std::puts("all passed");
}
