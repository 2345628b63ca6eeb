// SPDX-License-Identifier: Apache-2.0
// Proxies of two GPUs on two nodes, with threads in place of the kernels. Made for the thread
// sanitizer: it sees on any processor what goes wrong only on one with a weaker order than x86.
#include "collectives/native/gpu/proxy.h"

#include <cstring>
#include <thread>

#include "tests/native/require.h"
#include "transports/native/shm/connection.h"
#include "transports/native/shm/segment.h"

namespace railgauge::gpu {
namespace {

constexpr int kKinds = 2;
constexpr std::uint32_t kMessages = 300;
constexpr Layout kLayout{.blocks = 2, .slot_bytes = 256, .line_blocks = 0, .full_lines = 0};
const std::string kLost = "rank 1 closed the connection: a text too long for the string itself";

// As a kernel accesses the words that it shares with the host.
std::uint32_t load(std::uint32_t& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}
void store(std::uint32_t& word, std::uint32_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}
template <class Ready>
void await(const Ready& ready) {
  while (!ready()) std::this_thread::yield();
}

// The staging buffers of one rank for the other, and what its kernels do with them.
class Gpu {
 public:
  Status status{};

  Gpu(int rank) : rank_(rank) {}

  Route route(std::shared_ptr<Sender> to, std::shared_ptr<Receiver> from) {
    const std::size_t slots = kLayout.slots_at();
    return {1 - rank_, in_.data(), out_.data(), in_.data() + slots, out_.data() + slots, false,
            {to},      {from},     nullptr};
  }

  void exchange() {
    for (std::uint32_t number = 0; number < kMessages; ++number) {
      each([&](int kind, std::uint32_t block) { send(kind, block, number); });
      each([&](int kind, std::uint32_t block) { receive(kind, block, number); });
    }
  }

 private:
  template <class Call>
  static void each(const Call& call) {
    for (int kind = 0; kind < kKinds; ++kind)
      for (std::uint32_t block = 0; block < kLayout.blocks; ++block) call(kind, block);
  }
  static std::uint32_t size(std::uint32_t number) { return 1 + number % kLayout.slot_bytes; }
  static std::byte content(int rank, int kind, std::uint32_t block, std::uint32_t number) {
    return std::byte(number * 8 + rank * 4 + kind * 2 + block);
  }
  static Progress& words(std::vector<std::byte>& buffer, int kind, std::uint32_t block) {
    return reinterpret_cast<Progress*>(buffer.data() + (kind ? kLayout.share_at() : 0))[block];
  }
  static std::byte* slot(std::vector<std::byte>& buffer, int kind, std::uint32_t block,
                         std::uint32_t number) {
    return buffer.data() + kLayout.slots_at() + kLayout.slots_of(kind, block) +
           number % kSlots * kLayout.slot_bytes;
  }

  void send(int kind, std::uint32_t block, std::uint32_t number) {
    await([&] { return number - load(words(in_, kind, block).free) < kSlots; });
    Progress& out = words(out_, kind, block);
    std::memset(slot(out_, kind, block, number),
                std::to_integer<int>(content(rank_, kind, block, number)), size(number));
    out.bytes[number % kSlots] = size(number);
    store(out.there, number + 1);
  }

  void receive(int kind, std::uint32_t block, std::uint32_t number) {
    Progress& in = words(in_, kind, block);
    await([&] { return load(in.there) > number; });
    const std::byte* data = slot(in_, kind, block, number);
    for (std::uint32_t i = 0; i < size(number); ++i)
      REQUIRE(data[i] == content(1 - rank_, kind, block, number));
    store(words(out_, kind, block).free, number + 1);
  }

  const int rank_;
  std::vector<std::byte> in_ = std::vector<std::byte>(kLayout.buffer_bytes()), out_ = in_;
};

std::pair<std::shared_ptr<Sender>, std::shared_ptr<Receiver>> connected(
    const std::shared_ptr<Doorbell>& sender, const std::shared_ptr<Doorbell>& receiver, int from) {
  auto end = std::make_shared<shm::ShmReceiver>(from, sender, 8, kLayout.slot_bytes);
  return {
      std::make_shared<shm::ShmSender>(1 - from, receiver, shm::Segment::open(end->descriptor())),
      end};
}

void messages_and_their_credits_cross() {
  const std::shared_ptr<Doorbell> bells[] = {Doorbell::create(), Doorbell::create()};
  auto [to_second, from_first] = connected(bells[0], bells[1], 0);
  auto [to_first, from_second] = connected(bells[1], bells[0], 1);
  Gpu first(0), second(1);
  GpuProxy one(kLayout, 0, 1, {first.route(to_second, from_second)}, bells[0], &first.status);
  GpuProxy other(kLayout, 0, 1, {second.route(to_first, from_first)}, bells[1], &second.status);
  std::thread kernel([&] { second.exchange(); });
  first.exchange();
  kernel.join();
  REQUIRE(one.problem().empty() && other.problem().empty());
}

// The connections of a peer that goes.
struct Silent : Sender {
  using Sender::Sender;
  std::string via() const override { return "none"; }
  std::byte* acquire() override { return nullptr; }
  void post(std::size_t, std::uint32_t) override {}
};
struct Lost : Receiver {
  using Receiver::Receiver;
  int looks = 100;
  std::string via() const override { return "none"; }
  Message front() override {
    if (--looks < 0) throw PeerLost(kLost, 1);
    return {};
  }
  void pop() override {}
};

// The failure of any proxy makes the host ask all, at any time.
void a_lost_peer_is_known_with_its_cause() {
  for (int turn = 0; turn < 20; ++turn) {
    Gpu gpu(0);
    GpuProxy proxy(kLayout, 0, 1,
                   {gpu.route(std::make_shared<Silent>(1, kLayout.slot_bytes),
                              std::make_shared<Lost>(1, kLayout.slot_bytes))},
                   Doorbell::create(), &gpu.status);
    std::string early;
    std::thread asks([&] { await([&] { return !(early = proxy.problem()).empty(); }); });
    await([&] { return load(gpu.status.failed) != 0; });
    REQUIRE(load(gpu.status.failed) == 1 + 1);
    REQUIRE(proxy.problem() == kLost);
    asks.join();
    REQUIRE(early == kLost);
  }
}

}  // namespace
}  // namespace railgauge::gpu

int main() {
  railgauge::gpu::messages_and_their_credits_cross();
  railgauge::gpu::a_lost_peer_is_known_with_its_cause();
}
