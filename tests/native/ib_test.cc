// SPDX-License-Identifier: Apache-2.0
// What the verbs transport computes: how messages are cut over queue pairs, where they lie in
// slots, where packets go; and, on a fake device (fake_verbs.h), what real ones seldom do. What
// moves data is in tests/vm/test_ib.py.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/native/fake_verbs.h"
#include "tests/native/require.h"
#include "transports/native/doorbell.h"
#include "transports/native/error.h"
#include "transports/native/ib/address.h"
#include "transports/native/ib/connection.h"
#include "transports/native/ib/events.h"
#include "transports/native/ib/link.h"
#include "transports/native/ib/loopback.h"
#include "transports/native/ib/memory.h"
#include "transports/native/ib/remote_memory.h"
#include "transports/native/ib/striping.h"

namespace railgauge::ib {
namespace {

void pieces_cover_a_message_once() {
  for (std::uint32_t rails : {1, 2, 3}) {
    for (std::uint32_t queue_pairs : {1, 2, 5}) {
      for (bool split : {false, true}) {
        const Striping striping(rails, queue_pairs, split);
        REQUIRE(striping.group() == (split ? rails * queue_pairs : rails));
        for (std::size_t bytes : {0, 1, 8192, 8193, 65536, 65537, 1 << 20}) {
          const Striping::Cut cut = striping.cut(bytes);
          REQUIRE(cut.pieces >= 1 && cut.pieces <= striping.group());
          REQUIRE(cut.size * cut.pieces >= bytes);
          REQUIRE(cut.pieces == 1 || cut.size * (cut.pieces - 1) < bytes);
        }
      }
    }
  }
}

void messages_take_turns_over_all_queue_pairs() {
  for (bool split : {false, true}) {
    const std::uint32_t rails = 2, queue_pairs = 3;
    const Striping striping(rails, queue_pairs, split);
    std::vector<int> first(rails * queue_pairs);
    for (std::uint64_t message = 0; message < 60; ++message) {
      ++first[striping.queue_pair(message, 0)];
      std::vector<int> used(first.size());
      for (std::uint32_t piece = 0; piece < striping.group(); ++piece) {
        ++used[striping.queue_pair(message, piece)];
      }
      for (int times : used) REQUIRE(times <= 1);
    }
    for (int times : first) REQUIRE(times == 60 / static_cast<int>(first.size()));
  }
}

// Each message on the rails of its group alone: queue pair k of rail r has number k * rails + r.
void a_message_stays_on_one_queue_pair_of_each_rail() {
  const Striping striping(2, 3, false);
  for (std::uint64_t message = 0; message < 12; ++message) {
    REQUIRE(striping.queue_pair(message, 0) / 2 == message % 3);
    REQUIRE(striping.queue_pair(message, 1) / 2 == message % 3);
    REQUIRE(striping.queue_pair(message, 0) != striping.queue_pair(message, 1));
  }
}

void slots_and_cells_lie_side_by_side() {
  const SlotLayout layout{4, 4096};
  std::size_t end = 0;
  for (std::uint64_t number = 0; number < layout.slots; ++number) {
    const std::size_t data = layout.slot(number) + sizeof(Header);
    REQUIRE(data % SlotLayout::kAlign == 0);
    REQUIRE(layout.slot(number) >= end);
    REQUIRE(layout.slot(number) == layout.slot(number + layout.slots));
    end = data + layout.slot_bytes;
  }
  for (std::uint64_t number = 0; number < SlotLayout::kCells; ++number) {
    REQUIRE(layout.cell(number) >= end);
    REQUIRE(layout.cell(number) == layout.cell(number + SlotLayout::kCells));
    end = layout.cell(number) + SlotLayout::kCellBytes;
  }
  REQUIRE(end == layout.bytes());
}

void an_immediate_says_what_a_piece_is() {
  for (std::uint32_t message : {0u, 1u, Piece::kNumberMask}) {
    for (std::uint32_t of : {1u, 2u, 256u}) {
      for (bool is_short : {false, true}) {
        const Piece told = Piece::from(Piece{message, is_short, of}.immediate());
        REQUIRE(told.message == message && told.is_short == is_short && told.of == of);
      }
    }
  }
  REQUIRE(Piece::from(Piece{Piece::kNumberMask + 5, false, 1}.immediate()).message == 4);
}

void queue_pairs_take_the_ways_of_a_port_in_turn() {
  for (std::uint32_t number = 0; number < 9; ++number) {
    const LidWay only = lid_way(number, 0, 40, 0);
    REQUIRE(only.to == 40 && only.from_bits == 0);
    const LidWay one_of = lid_way(number, 1, 40, 2);  // two ways from here, four there
    REQUIRE(one_of.to == 40 + number % 4 && one_of.from_bits == number % 2);
  }
}

void remote_memory_facts_are_complete() {
  const RemoteMemory remote{1ull << 40, 4096, {7, 8}};
  const RemoteMemory told = RemoteMemory::from(remote.facts(), 2);
  REQUIRE(told.address == remote.address && told.bytes == 4096 && told.rkeys == remote.rkeys);
  try {
    RemoteMemory::from(remote.facts(), 3);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::kMismatch);
    return;
  }
  REQUIRE(!"a remote of another connection is taken");
}

void the_first_failure_of_a_device_is_told() {
  DeviceFailure failure;
  REQUIRE(!failure.happened());
  failure.tell("mlx5_0:1: port error");
  failure.tell("mlx5_1:1: fatal");
  REQUIRE(failure.happened());
  try {
    failure.raise();
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::kSystem);
    REQUIRE(std::string(error.what()) == "mlx5_0:1: port error");
    return;
  }
  REQUIRE(!"no failure is told");
}

// What `body` throws.
template <class Body>
std::string refusal(ErrorCode code, Body body) {
  try {
    body();
  } catch (const Error& error) {
    REQUIRE(error.code() == code);
    return error.what();
  }
  REQUIRE(!"nothing is refused");
  return "";
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

abi::Gid gid(std::uint16_t flid, std::uint16_t subnet) {
  abi::Gid gid{};
  gid.raw[0] = 0xfe;
  gid.raw[1] = 0xc0;
  gid.raw[4] = static_cast<std::uint8_t>(flid >> 8);
  gid.raw[5] = static_cast<std::uint8_t>(flid);
  gid.raw[6] = static_cast<std::uint8_t>(subnet >> 8);
  gid.raw[7] = static_cast<std::uint8_t>(subnet);
  return gid;
}

QueuePairFacts facts(std::uint16_t lid, std::uint8_t lmc, const abi::Gid& gid) {
  QueuePairFacts facts{};
  facts.link_layer = abi::kInfiniBand;
  facts.lid = lid;
  facts.lmc = lmc;
  facts.gid = gid;
  return facts;
}

bool is(const Address& address, bool is_global, int lid, int from_bits) {
  return address.is_global == is_global && address.way.to == lid &&
         address.way.from_bits == from_bits;
}

void within_a_subnet_packets_go_by_lid() {
  // The FLID stands in the prefix: it does not make another subnet.
  const QueuePairFacts own = facts(3, 1, gid(0, 5)), peer = facts(40, 2, gid(0xc001, 5));
  REQUIRE(is(address_of(own, peer, 0), false, 40, 0));
  REQUIRE(is(address_of(own, peer, 3), false, 43, 1));
}

void a_port_may_want_gids_in_its_subnet() {
  QueuePairFacts own = facts(3, 0, gid(0, 5)), peer = facts(40, 0, gid(0, 5));
  own.port_flags = abi::kGrhRequired;
  REQUIRE(is(address_of(own, peer, 0), true, 40, 0));
  REQUIRE(is(address_of(peer, own, 0), true, 3, 0));
}

void between_subnets_packets_go_by_gid_and_flid() {
  const QueuePairFacts own = facts(3, 1, gid(0xc002, 4)), peer = facts(40, 2, gid(0xc001, 5));
  REQUIRE(is(address_of(own, peer, 3), true, 0xc001, 0));
  REQUIRE(is(address_of(own, facts(40, 2, gid(0, 5)), 3), true, 40, 0));  // no router told one
}

void on_roce_packets_go_by_gid_alone() {
  QueuePairFacts own = facts(0, 0, gid(0, 5)), peer = own;
  own.link_layer = peer.link_layer = abi::kEthernet;
  REQUIRE(is(address_of(own, peer, 1), true, 0, 0));
}

std::shared_ptr<Rail> rail(int port = 1, const RailSettings& settings = {}) {
  return std::make_shared<Rail>("fake0", port, -1, settings);
}

// A rank's device events come by a descriptor: a fake one by this.
class Events {
 public:
  Events() {
    fake_device().reset();
    REQUIRE(pipe2(ends_, O_CLOEXEC) == 0);
    fake_device().async_fd = ends_[0];
  }
  ~Events() {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  void come() { REQUIRE(write(ends_[1], "", 1) == 1); }
  void end() {
    close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2];
};

constexpr std::chrono::seconds kLinger{5};
const End kEnd{1, "the other host", "NET/IB/0", 2, 4096, 1, false};

// A sender and the receiver of what it sends, of one rank.
struct Ends {
  explicit Ends(const Rails& rails)
      : proxy(std::make_shared<Proxy>(Doorbell::create(), kLinger)),
        sender(proxy, rails, kEnd),
        receiver(proxy, rails, kEnd) {
    sender.connect(receiver.link().facts());
    receiver.connect(sender.link().facts());
  }
  std::shared_ptr<Proxy> proxy;
  IbSender sender;
  IbReceiver receiver;
};

void forks_are_told_of_before_anything_is_registered() {
  Verbs::get();
  REQUIRE(fake_device().fork_inits == 1);
}

void what_providers_return_may_be_negative() {
  REQUIRE(says(verbs_error("made", -EINVAL).what(), "made: Invalid argument"));
}

void what_is_slow_to_be_reached_is_tried_again() {
  RailSettings settings;
  settings.modify_retries = 3;
  settings.modify_pause = std::chrono::milliseconds(1);
  FakeDevice& device = fake_device();
  auto tries = [&](int error, int times) {
    device.reset();
    device.modify_error = error;
    device.modify_errors = times;
    Loopback{rail(1, settings)};
    return device.modifications - 3;  // INIT, RTR, RTS
  };
  REQUIRE(tries(ETIMEDOUT, 3) == 3);
  REQUIRE(tries(-ETIMEDOUT, 1) == 1);
  REQUIRE(says(refusal(ErrorCode::kSystem, [&] { tries(ETIMEDOUT, 4); }), "timed out"));
  REQUIRE(device.modifications == 4);
  refusal(ErrorCode::kSystem, [&] { tries(EINVAL, 1); });
  REQUIRE(device.modifications == 1);
  settings.modify_retries_all = true;
  REQUIRE(tries(EINVAL, 2) == 2);
}

void queue_pairs_are_given_the_address() {
  fake_device().reset();
  fake_device().port.flags = abi::kGrhRequired;
  Loopback{rail()};
  REQUIRE(fake_device().to_rtr.ah_attr.is_global == 1);
  REQUIRE(fake_device().to_rtr.ah_attr.dlid == 7);
  REQUIRE(fake_device().to_rtr.ah_attr.grh.dgid.raw[0] == 0xfe);
}

// NCCL_IB_PKEY, _SL, _TC, _TIMEOUT and _RETRY_CNT: each in the attribute of its name
// (IBTA 11.2.5.2).
void queue_pairs_are_given_the_settings() {
  fake_device().reset();
  fake_device().port.flags = abi::kGrhRequired;
  fake_device().pkeys = {0xffff, 0x8001, 0x8001};
  RailSettings settings;
  settings.pkey_index = 2;
  settings.service_level = 3;
  settings.traffic_class = 106;
  settings.timeout = 18;
  settings.retry_count = 5;
  Loopback{rail(1, settings)};
  REQUIRE(fake_device().to_init.pkey_index == 2);
  REQUIRE(fake_device().to_rtr.ah_attr.sl == 3);
  REQUIRE(fake_device().to_rtr.ah_attr.grh.traffic_class == 106);
  REQUIRE(fake_device().to_rts.timeout == 18);
  REQUIRE(fake_device().to_rts.retry_cnt == 5);
}

void an_empty_partition_key_is_refused() {
  fake_device().reset();
  fake_device().pkeys = {0xffff, 0, 0x8001, 0x8000};
  RailSettings settings;
  settings.pkey_index = 2;
  REQUIRE(rail(1, settings)->pkey() == 0x8001);
  for (int empty : {1, 3}) {
    settings.pkey_index = empty;
    const std::string said = refusal(ErrorCode::kInvalid, [&] { rail(1, settings); });
    REQUIRE(says(said, "index " + std::to_string(empty) + " (NCCL_IB_PKEY), only at 0, 2"));
  }
}

void ends_of_unlike_partitions_do_not_connect() {
  Events events;
  fake_device().pkeys = {0xffff, 0x8001, 0x0001};
  auto sender = [](int pkey_index) {
    RailSettings settings;
    settings.pkey_index = pkey_index;
    return Rails{rail(1, settings)};
  };
  auto proxy = std::make_shared<Proxy>(Doorbell::create(), kLinger);
  IbReceiver full(proxy, sender(1), kEnd);
  IbSender other(proxy, sender(0), kEnd), limited(proxy, sender(2), kEnd);
  const std::string said =
      refusal(ErrorCode::kMismatch, [&] { other.connect(full.link().facts()); });
  REQUIRE(says(said, "0xffff") && says(said, "0x8001") && says(said, "NCCL_IB_PKEY"));
  limited.connect(full.link().facts());
}

void an_exported_range_is_registered_by_itself() {
  Events events;
  Registrations registrations;
  const Rails rails{rail()};
  auto* page = reinterpret_cast<const std::byte*>(std::uintptr_t{1} << 40);
  auto exported = [](std::size_t offset) {
    return std::make_shared<const DmaBuf>(DmaBuf{Fd(eventfd(0, EFD_CLOEXEC)), offset});
  };
  registrations.add(rails, page + 64, 64, 0, exported(64));
  registrations.add(rails, page + 512, 64, 0, exported(512));
  REQUIRE(fake_device().dma_buf_offset == 512);
  REQUIRE(registrations.find(page + 512, 64)->data() == page + 512);
  REQUIRE(registrations.find(page + 64, 64)->data() == page + 64);
  registrations.remove(page + 64, 64);
  REQUIRE(registrations.find(page + 64, 64) == nullptr);
  REQUIRE(registrations.find(page + 512, 64) != nullptr);
}

void what_is_found_allows_what_is_wanted() {
  Events events;
  Registrations registrations;
  const Rails rails{rail()};
  std::vector<std::byte> memory(1 << 16);
  registrations.add(rails, memory.data(), memory.size(), abi::kRemoteWrite);
  registrations.add(rails, memory.data() + 8192, 64, 0);
  const Region* found = registrations.find(memory.data() + 8192, 64, abi::kRemoteWrite);
  REQUIRE(found != nullptr && found->allows(abi::kRemoteWrite));
}

void remote_memory_has_to_be_registered_for_writing() {
  Events events;
  Ends ends({rail()});
  std::vector<std::byte> memory(4096);
  ends.proxy->register_memory(memory.data(), memory.size(), 0);
  auto expose = [&] { ends.receiver.expose(memory.data(), memory.size()); };
  REQUIRE(says(refusal(ErrorCode::kInvalid, expose), "for reading only"));
}

void a_device_that_refuses_at_the_end_keeps_nothing_from_ending() {
  Events events;
  auto ends = std::make_unique<Ends>(Rails{rail()});
  fake_device().send_error = EIO;
  const Clock::time_point begun = Clock::now();
  ends->proxy->close();
  REQUIRE(Clock::now() - begun < kLinger);
  REQUIRE(!ends->sender.link().connected() && !ends->receiver.link().connected());
}

// Of a message of one piece, as the receiver's device tells it.
abi::Wc arrived(std::uint32_t message) {
  const Piece piece{message, false, 1};
  abi::Wc wc{};
  wc.wr_id = Completion::id(0, 0);
  wc.opcode = abi::kWcRecvRdmaWithImm;
  wc.imm_data = htonl(piece.immediate());
  return wc;
}

void nothing_is_posted_once_something_was_flushed() {
  for (bool flushes : {false, true}) {
    Events events;
    auto proxy = std::make_shared<Proxy>(Doorbell::create(), kLinger);
    const CompletionChannels channels = proxy->channels({rail()});
    OutgoingLink peer(kEnd, channels);
    IncomingLink link(kEnd, channels);
    link.connect(peer.facts());
    auto& completions = fake_device().queues.back()->completions;
    completions.push_back(arrived(0));
    if (flushes) {
      abi::Wc flushed{};
      flushed.wr_id = Completion::id(0, 1);
      flushed.status = abi::kWcFlushed;
      completions.push_back(flushed);
    }
    link.move();
    REQUIRE(link.oldest().data != nullptr);
    link.pop();
    REQUIRE(fake_device().sends == (flushes ? 0 : 1));  // the note
    link.say_bye();
    REQUIRE(fake_device().sends == (flushes ? 0 : 2));
  }
}

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void a_device_that_goes_is_told_once_and_not_looked_at_again() {
  for (int error : {EIO, EAGAIN}) {
    Events events;
    Ends ends({rail()});
    if (error == EAGAIN) {
      events.end();  // its descriptor hangs up
    } else {
      fake_device().event_error = error;
      events.come();
    }
    const Clock::time_point by = Clock::now() + kLinger;
    while (!ends.proxy->failure().happened() && Clock::now() < by) std::this_thread::yield();
    REQUIRE(says(refusal(ErrorCode::kSystem, [&] { ends.proxy->failure().raise(); }),
                 "fake0:1 of this rank is gone"));
    const double before = cpu_s();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    REQUIRE(cpu_s() - before < 0.05);
  }
}

void the_rail_that_is_silent_is_named() {
  for (int silent : {0, 1, 2}) {
    Events events;
    fake_device().silent_port = silent;
    auto proxy = std::make_shared<Proxy>(Doorbell::create(), kLinger);
    const CompletionChannels channels = proxy->channels({rail(1), rail(2)});
    OutgoingLink link(kEnd, channels);
    IncomingLink peer(kEnd, channels);
    link.connect(peer.facts());
    const Clock::time_point begun = Clock::now();
    for (int second = 0; second < 200 && link.health().state() == Health::kSound; ++second) {
      link.probe(begun + std::chrono::seconds(second));
      link.move();
    }
    REQUIRE((link.health().state() == Health::kSound) == (silent == 0));
    if (silent == 0) continue;
    REQUIRE(says(refusal(ErrorCode::kPeerLost, [&] { link.health().raise(); }),
                 "it answers nothing over fake0:" + std::to_string(silent) + " any more"));
  }
}

}  // namespace
}  // namespace railgauge::ib

int main() {
  using namespace railgauge::ib;
  pieces_cover_a_message_once();
  messages_take_turns_over_all_queue_pairs();
  a_message_stays_on_one_queue_pair_of_each_rail();
  slots_and_cells_lie_side_by_side();
  an_immediate_says_what_a_piece_is();
  queue_pairs_take_the_ways_of_a_port_in_turn();
  remote_memory_facts_are_complete();
  the_first_failure_of_a_device_is_told();
  within_a_subnet_packets_go_by_lid();
  a_port_may_want_gids_in_its_subnet();
  between_subnets_packets_go_by_gid_and_flid();
  on_roce_packets_go_by_gid_alone();
  forks_are_told_of_before_anything_is_registered();
  what_providers_return_may_be_negative();
  what_is_slow_to_be_reached_is_tried_again();
  queue_pairs_are_given_the_address();
  queue_pairs_are_given_the_settings();
  an_empty_partition_key_is_refused();
  ends_of_unlike_partitions_do_not_connect();
  an_exported_range_is_registered_by_itself();
  what_is_found_allows_what_is_wanted();
  remote_memory_has_to_be_registered_for_writing();
  a_device_that_refuses_at_the_end_keeps_nothing_from_ending();
  nothing_is_posted_once_something_was_flushed();
  a_device_that_goes_is_told_once_and_not_looked_at_again();
  the_rail_that_is_silent_is_named();
  std::puts("all passed");
}
