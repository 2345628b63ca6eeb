// SPDX-License-Identifier: Apache-2.0
#include "topo/native/nccl_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "topo/native/nccl_speeds.h"

namespace railgauge::topo {
namespace {

constexpr int kChannelsOfNccl = 64;       // MAXCHANNELS
constexpr int kStepsOfAttempt = 1 << 14;  // NCCL_SEARCH_TIMEOUT
constexpr int kStepsOfSameChannels = 1 << 8;
constexpr int kStepsOfFirstOrder = 1 << 10;  // in PCI order, beside the attempt's own
constexpr std::int64_t kStepsOfAll = 1 << 19;
constexpr int kPerfect = -1;  // as steps left: as many channels as there may be
constexpr float kWorthwhile =
    0.49f;  // a lower speed is tried while it is this share of the one found
constexpr float kFallbackSpeed = 0.1f;
constexpr int kNowhere = -1;

enum class Order { free, pci, replay };
// Where a channel goes back to a NIC or to its first GPU: after that many GPUs; -1 for never.
struct Returns {
  int to_net;
  int to_first;
};

float rounded(float a, float b) { return roundf((a - b) * 1000) / 1000; }

class NcclSearch {
 public:
  NcclSearch(const Wiring& wiring, Pattern pattern, int least, int most, int cross_nic)
      : w_(wiring),
        count_(static_cast<int>(wiring.gpus.size())),
        used_(wiring.gpus.size()),
        best_{pattern, least, most} {
    for (const WireLink& link : w_.links) left_.push_back(link.gb_per_s);
    for (const WiredNet& net : w_.nets) net_left_.push_back(net.gb_per_s);
    const bool crosses = w_.nets.size() > 1 && pattern != Pattern::tree;
    cross_nic_ = crosses ? cross_nic : 0;
  }

  NcclGraph run() {
    prepare();
    search_until_found();
    duplicate();
    search_for_more();
    if (best_.channels == 0) fall_back();
    return best_;
  }

 private:
  // --- the attempts
  // -----------------------------------------------------------------------------------------------

  void prepare() {
    least_intra_ = LOC, most_intra_ = SYS, least_inter_ = PIX, most_inter_ = SYS;
    if (count_ > 1) std::tie(least_intra_, most_intra_) = span_of_types(0, count_);
    if (w_.leaves) {
      std::tie(least_inter_, most_inter_) = span_of_types(count_, static_cast<int>(w_.ends()));
      most_intra_ = most_inter_;
    }
    if (w_.least_sm < 90)
      most_inter_ = SYS;  // balanced trees must turn back through the CPUs at times
    if (count_ == 1 && best_.pattern != Pattern::ring) best_.pattern = Pattern::tree;
    if (best_.pattern == Pattern::ring && two_nvlink_domains() && best_.most_channels >= 2 &&
        best_.least_channels == 1)
      best_.least_channels = 2;  // trees want two there, and both have as many
    best_.type_intra = least_intra_;
    best_.type_inter = least_inter_;
    best_.cross_nic = cross_nic_ == 1;
    speeds_ = nccl_speeds(w_.least_sm, w_.leaves);
  }

  // The nearest and furthest type among the steps from GPUs to the ends in [from, to).
  std::pair<int, int> span_of_types(int from, int to) const {
    int least = SYS, most = LOC;
    for (int gpu = 0; gpu < count_; ++gpu)
      for (int end = from; end < to; ++end) {
        if (gpu == end) continue;
        least = std::min(least, w_.step(gpu, end).type);
        most = std::max(most, w_.step(gpu, end).type);
      }
    return {least, most};
  }

  bool two_nvlink_domains() const {
    std::vector<int> domain(count_), members(count_);
    for (int gpu = 0; gpu < count_; ++gpu) domain[gpu] = gpu;
    for (int gpu = 0; gpu < count_; ++gpu)
      for (int peer = gpu + 1; peer < count_; ++peer)
        if (w_.step(gpu, peer).type == NVL) domain[peer] = domain[gpu];
    for (int one : domain) ++members[one];
    return std::ranges::count_if(members, [](int n) { return n > 1; }) == 2;
  }

  void search_until_found() {
    now_ = best_;
    float all = one_node_limit(), fastest = only_gpu() ? kUnlimited : w_.most_gb_per_s;
    if (w_.cards > 1 && now_.pattern != Pattern::ring)
      all = static_cast<float>(
          all * (w_.cards * 1.0 / (w_.cards - 1)));  // trees do not return to where they began
    while ((speed() > fastest || speed() * now_.least_channels > all) && !slowest()) ++at_;
    now_.intra = now_.inter = speed();
    do attempt();
    while (steps_ != kPerfect &&
           static_cast<float>(best_.channels) * best_.inter < one_node_limit() && relax());
  }

  bool only_gpu() const { return !w_.leaves && count_ == 1; }
  float one_node_limit() const { return only_gpu() ? kUnlimited : w_.card_gb_per_s; }
  float speed() const { return speeds_[at_]; }
  bool slowest() const { return at_ + 1 >= speeds_.size(); }

  void attempt() {
    steps_ = now_.same_channels ? kStepsOfSameChannels : kStepsOfAttempt;
    budget_ -= steps_;
    now_.channels = 0;
    add_channel(steps_);
  }

  // Loosen one condition for the next attempt; false when there is nothing left to try.
  bool relax() {
    if (now_.same_channels && !(w_.amd && now_.type_intra == SYS)) {
      now_.same_channels = false;
      return true;
    }
    now_.same_channels = true;
    budget_ += steps_;
    if (budget_ < 0 && best_.channels) return false;
    if (w_.least_sm >= 90 && now_.pattern == Pattern::balanced_tree) {
      now_.pattern = Pattern::tree;
      return true;
    }
    now_.pattern = best_.pattern;
    return widen_types() || cross_nics() || slow_down();
  }

  bool widen_types() {
    const int furthest = w_.leaves ? now_.type_inter : most_intra_;
    if (now_.type_intra < furthest && (!best_.channels || now_.type_intra < best_.type_intra) &&
        ++now_.type_intra < DIS)
      return true;
    now_.type_intra = least_intra_;
    if (w_.leaves && now_.type_inter < most_inter_ &&
        (!best_.channels || now_.type_inter < best_.type_inter || now_.type_inter < PXN) &&
        ++now_.type_inter < DIS)
      return true;
    now_.type_inter = least_inter_;
    return false;
  }

  bool cross_nics() {
    const bool may = best_.pattern == Pattern::ring || best_.pattern == Pattern::balanced_tree;
    if (cross_nic_ == 2 && now_.cross_nic == 0 && may) {
      now_.cross_nic = 2;
      return true;
    }
    now_.cross_nic = cross_nic_ == 1;
    return false;
  }

  bool slow_down() {
    if (slowest() || (best_.channels && speeds_[at_ + 1] / best_.inter <= kWorthwhile))
      return false;
    now_.intra = now_.inter = speeds_[++at_];
    return true;
  }

  // Fast channels are copied and share their speed, so that more of a GPU's blocks work
  // (`ncclTopoDupChannels`).
  void duplicate() {
    if (best_.channels == 0 || best_.intra < 25) return;
    if (w_.least_sm > 80 && best_.intra < 50 && best_.channels > 4) return;
    const int many = std::min(best_.channels * 2, best_.most_channels);
    best_.order.resize(many * count_);
    best_.nets.resize(many);
    const auto share = static_cast<float>((many + best_.channels - 1) / best_.channels);
    for (int extra = best_.channels; extra < many; ++extra) {
      best_.nets[extra] = best_.nets[extra - best_.channels];
      std::copy_n(&best_.order[(extra - best_.channels) * count_], count_,
                  &best_.order[extra * count_]);
    }
    best_.intra /= share;
    best_.inter /= share;
    best_.channels = many;
  }

  // The same number of channels at a higher speed; for trees, within the node only.
  void search_for_more() {
    now_ = best_;
    at_ = 0;
    while (speed() > best_.inter && !slowest()) ++at_;
    now_.intra = now_.inter = speed();
    now_.least_channels = best_.channels;
    for (steps_ = kPerfect; steps_ != 0 && at_ > 0; attempt()) {
      const bool ring = best_.pattern == Pattern::ring;
      if (!ring && (now_.intra != best_.intra || now_.intra >= now_.inter * 2)) break;
      now_.intra = speeds_[--at_];
      if (ring) now_.inter = now_.intra;
    }
  }

  void fall_back() {
    best_.order.resize(count_);
    for (int gpu = 0; gpu < count_; ++gpu) best_.order[gpu] = gpu;
    best_.intra = kFallbackSpeed;
    best_.type_intra = SYS;
    const auto& in = nets_of(0, kNowhere);
    const int entry = in.empty() ? kNowhere : in.front();
    const auto& out = nets_of(count_ - 1, kNowhere);
    const int leave = out.empty() ? kNowhere : out.front();
    const bool both = entry != kNowhere && leave != kNowhere;
    best_.nets.assign(1, both ? std::array{entry, leave} : std::array{kNowhere, kNowhere});
    best_.inter = both ? kFallbackSpeed : 0;
    best_.type_inter = both ? SYS : DIS;
    best_.channels = 1;
  }

  // --- one channel after the other
  // ----------------------------------------------------------------------------------

  Returns returns() const {
    const bool ring = now_.pattern == Pattern::ring;
    if (!w_.leaves) return {kNowhere, ring ? count_ - 1 : kNowhere};
    return {ring ? count_ - 1 : now_.pattern == Pattern::split_tree ? 1 : 0, kNowhere};
  }

  void add_channel(int& steps) {
    now_.order.resize(std::max<std::size_t>(now_.order.size(), (now_.channels + 1) * count_));
    now_.nets.resize(std::max<std::size_t>(now_.nets.size(), now_.channels + 1));
    if (w_.leaves) return add_channel_from_nets(steps);
    const bool first = now_.channels == 0;
    enter(kNowhere, first ? 0 : last_order(0), 0, returns(), first ? Order::pci : Order::replay,
          steps);
    if (now_.same_channels && !first) return;
    for (int gpu = 0; gpu < count_; ++gpu) enter(kNowhere, gpu, 0, returns(), Order::free, steps);
  }

  void add_channel_from_nets(int& steps) {
    const int whole = static_cast<int>(now_.inter);  // NCCL counts NICs in whole GB/s
    const std::vector<int>& nets = nets_of(kNowhere, now_.type_inter);
    const int channel = now_.channels;
    for (std::size_t turn = 0; turn < nets.size(); ++turn) {
      const int net = nets[(channel + turn) % nets.size()];
      const bool paired = now_.pattern == Pattern::ring && now_.cross_nic == 2 && channel % 2 == 1;
      if (net_left_[net] < static_cast<float>(whole) ||
          (paired && net != now_.nets[channel - 1][1]))
        continue;
      now_.nets[channel][0] = net;
      now_.latency_us = w_.nets[net].latency_us;
      charge_port(net, -whole);
      if (!leave_from(net, steps)) continue;  // NCCL forgets to give the port back here
      charge_port(net, whole);
    }
  }

  // False when the NIC reaches no GPU.
  bool leave_from(int net, int& steps) {
    const int end = w_.net_end(net);
    if (now_.channels > 0 && now_.same_channels) {
      enter(end, last_order(0), 0, returns(), Order::replay, steps);
      return true;
    }
    if (now_.channels == 0 && !w_.switched) {
      int apart = kStepsOfFirstOrder;
      enter(end, 0, 0, returns(), Order::pci, apart);
      if (apart == kPerfect) steps = kPerfect;
    }
    const int local = w_.nets[net].local_gpu;
    if (local != kNowhere) enter(end, local, 0, returns(), Order::free, steps);
    const auto& near = w_.nets[net].near_gpus;
    if (near.empty() || w_.step(end, near.front()).type == DIS) return false;
    for (int gpu : near)
      if (gpu != local) enter(end, gpu, 0, returns(), Order::free, steps);
    return true;
  }

  void charge_port(int net, int whole) {
    for (std::size_t other = 0; other < w_.nets.size(); ++other)
      if (w_.nets[other].asic == w_.nets[net].asic && w_.nets[other].port == w_.nets[net].port)
        net_left_[other] += static_cast<float>(whole);
  }

  // The GPU at a place of the channel before.
  int last_order(int place) const { return now_.order[(now_.channels - 1) * count_ + place]; }

  // --- one GPU after the other
  // ----------------------------------------------------------------------------------------

  void enter(int from, int gpu, int place, Returns back, Order order, int& steps) {
    if (!take(from, gpu)) return;
    const std::uint64_t flag = std::uint64_t{1} << now_.channels;
    used_[gpu] ^= flag;
    go_on(gpu, place, back, order, steps);
    used_[gpu] ^= flag;
    give(from, gpu);
  }

  void go_on(int gpu, int place, Returns back, Order order, int& steps) {
    if (steps <= 0) return;
    --steps;
    if (place == count_) return complete(steps);
    now_.order[now_.channels * count_ + place] = gpu;
    if (place == back.to_net) return to_nets(gpu, place, back, order, steps);
    if (place < count_ - 1) {
      for (int next : following(gpu, place, back, order))
        enter(gpu, next, place + 1, back, order, steps);
    } else if (place == back.to_first) {
      const int first = now_.order[now_.channels * count_];
      if (!take(gpu, first)) return;
      go_on(first, place + 1, {back.to_net, kNowhere}, order, steps);
      give(gpu, first);
    } else {
      go_on(gpu, count_, {kNowhere, kNowhere}, order, steps);
    }
  }

  void complete(int& steps) {
    ++now_.channels;
    if (better()) {
      best_ = now_;
      if (now_.channels == now_.most_channels) steps = kPerfect;
    }
    if (now_.channels < now_.most_channels) add_channel(steps);
    --now_.channels;
  }

  bool better() const {
    if (now_.channels < now_.least_channels) return false;
    if (now_.total() != best_.total()) return now_.total() > best_.total();
    return now_.pattern == best_.pattern && now_.cross_nic == best_.cross_nic &&
           now_.hops < best_.hops;
  }

  void to_nets(int gpu, int place, Returns back, Order order, int& steps) {
    if (!w_.leaves) return;
    const bool balanced =
        now_.pattern ==
        Pattern::balanced_tree;  // half of it goes by the first GPU, half by the second
    const float whole = now_.inter;
    const std::vector<int>& nets = nets_of(gpu, now_.type_inter);
    for (int net : nets) {
      if (!may_leave_by(net, place)) continue;
      if (balanced) now_.inter = whole / 2;
      const bool taken = take(gpu, w_.net_end(net));
      now_.inter = whole;
      if (!taken) continue;
      now_.nets[now_.channels][1] = net;
      go_on(gpu, place, {balanced && place == 0 ? 1 : kNowhere, back.to_first}, order, steps);
      if (balanced) now_.inter = whole / 2;
      give(gpu, w_.net_end(net));
      now_.inter = whole;
    }
  }

  bool may_leave_by(int net, int place) const {
    const auto [entry, leave] = now_.nets[now_.channels];
    if (now_.pattern == Pattern::tree && net != entry) return false;
    if (now_.pattern == Pattern::ring && now_.cross_nic == 2) {
      if (now_.channels % 2 == 1 && net != now_.nets[now_.channels - 1][0]) return false;
    } else if (now_.cross_nic == 0 && (w_.nets[net].asic != w_.nets[entry].asic ||
                                       w_.nets[net].port != w_.nets[entry].port)) {
      return false;
    }
    return now_.pattern != Pattern::balanced_tree || place == 0 || net == leave;
  }

  // --- orders of trial
  // --------------------------------------------------------------------------------------------------

  std::vector<int> following(int gpu, int place, Returns back, Order order) const {
    if (order == Order::pci) return {place + 1};
    if (order == Order::replay) return {last_order(place + 1)};
    return w_.switched ? neighbours(gpu) : by_score(gpu, place, back);
  }

  bool open(int gpu, int other) const {
    return !w_.step(gpu, other).hops.empty() && !(used_[other] >> now_.channels & 1);
  }

  struct Score {
    int net_speed, pci_speed, net_hops, speed, hops, turn, gpu;
    std::tuple<int, int, int, int, int, int> key() const {
      return {-net_speed, -pci_speed, net_hops, -speed, hops, turn};
    }
  };

  // What is left of a GPU's PCI link, in whole GB/s; -1 without one (`gpuPciBw`).
  int pci_left(const WiredGpu& gpu) const {
    return gpu.pci_up < 0 ? -1 : static_cast<int>(std::min(left_[gpu.pci_up], left_[gpu.pci_down]));
  }

  // The GPUs that the channel has not visited: those best placed for its NIC first, then the
  // nearest.
  std::vector<int> by_score(int gpu, int place, Returns back) const {
    const bool by_net = back.to_net != kNowhere;
    const int entry = by_net ? w_.net_end(now_.nets[now_.channels][0]) : 0;
    std::vector<Score> scores;
    for (int turn = 1; turn < count_; ++turn) {
      const int other = (gpu + turn) % count_;
      if (!open(gpu, other)) continue;
      const Step& step = w_.step(gpu, other);
      Score score{
          0,    0,    0, static_cast<int>(step.gb_per_s), static_cast<int>(step.hops.size()),
          turn, other};
      if (by_net) {
        const Step& from_net = w_.step(entry, other);
        score.net_speed = static_cast<int>(from_net.gb_per_s);
        score.pci_speed = pci_left(w_.gpus[other]);
        score.net_hops = static_cast<int>(from_net.hops.size());
      }
      scores.push_back(score);
    }
    std::ranges::sort(scores, {}, [](const Score& one) { return one.key(); });
    const bool last_before_net = back.to_net == place + 1;
    const bool alike = std::ranges::all_of(scores, [&](const Score& one) {
      return one.speed == scores[0].speed && one.hops == scores[0].hops;
    });
    if (by_net && !last_before_net && alike)
      std::ranges::reverse(scores);  // keep the NIC's GPUs for the end
    std::vector<int> next;
    for (const Score& score : scores) next.push_back(score.gpu);
    return next;
  }

  // A switch serves few peers at a time best: only the GPUs before and after are tried.
  std::vector<int> neighbours(int gpu) const {
    const int before = (gpu - 1 + count_) % count_, after = (gpu + 1) % count_;
    std::vector<int> wanted;
    switch (now_.pattern) {
      case Pattern::ring:
        wanted = {before, after};
        break;
      case Pattern::tree:
        wanted = {after};
        break;
      default:
        wanted = {after, before};
    }
    if (before == after) wanted.resize(1);
    std::erase_if(wanted, [&](int other) { return other == gpu || !open(gpu, other); });
    return wanted;
  }

  // NICs to try, by preference, for a GPU or for all of them (`ncclTopoSelectNets`).
  const std::vector<int>& nets_of(int gpu, int type) {
    if (type != nets_type_) nets_.assign(count_ + 1, {}), nets_type_ = type;
    auto& nets = nets_[gpu + 1];
    if (nets.empty()) nets = select_nets(gpu, type);
    return nets;
  }

  std::vector<int> select_nets(int gpu, int type) const {
    const int from = gpu == kNowhere ? 0 : gpu, to = gpu == kNowhere ? count_ : gpu + 1;
    std::vector<int> nets;
    auto add = [&](int net) {
      if (std::ranges::find(nets, net) == nets.end()) nets.push_back(net);
    };
    if (w_.several_hosts) {
      for (std::size_t channel = 0; channel < kChannelsOfNccl; ++channel)
        for (int one = from; one < to; ++one)
          if (channel < w_.gpus[one].local_nets.size()) add(w_.gpus[one].local_nets[channel]);
    } else {
      for (int one = from; one < to; ++one) std::ranges::for_each(w_.gpus[one].local_nets, add);
    }
    const auto most = static_cast<std::size_t>(w_.most_nets * (to - from));
    for (int near = 0; near <= type; ++near)
      for (int one = from; one < to; ++one)
        for (int net = 0; net < std::min<int>(static_cast<int>(w_.nets.size()), kChannelsOfNccl);
             ++net) {
          if (w_.most_nets && nets.size() >= most) return nets;
          if (w_.step(one, w_.net_end(net)).type == near) add(net);
        }
    return nets;
  }

  // --- what a step takes
  // ------------------------------------------------------------------------------------------------

  bool take(int from, int to) {
    if (from == kNowhere) return true;
    const Step& step = w_.step(from, to);
    const bool within = from < count_ && to < count_;
    const int furthest = within ? now_.type_intra : now_.type_inter;
    if (step.type == DIS || step.type > furthest) return false;
    if (now_.pattern != Pattern::ring && w_.step(to, from).type > furthest) return false;
    const float speed = within ? now_.intra : now_.inter;
    const int passed = pass(step, static_cast<int>(step.hops.size()), speed);
    if (passed < static_cast<int>(step.hops.size())) {
      pass(step, passed, -speed);
      return false;
    }
    now_.hops += static_cast<float>(step.hops.size());
    return true;
  }

  void give(int from, int to) {
    if (from == kNowhere) return;
    const Step& step = w_.step(from, to);
    pass(step, static_cast<int>(step.hops.size()),
         from < count_ && to < count_ ? -now_.intra : -now_.inter);
    now_.hops -= static_cast<float>(step.hops.size());
  }

  // Charge the first hops of a step until a link has no room; the number of hops that were charged.
  int pass(const Step& step, int most, float speed) {
    const float pci = step.small_packets ? speed * 6 / 5 : speed;
    for (int at = 0; at < most; ++at) {
      const Hop& hop = step.hops[at];
      const float ahead = w_.links[hop.link].pci ? pci : speed;
      const float back = hop.reverse == Reverse::none     ? 0
                         : hop.reverse == Reverse::eighth ? ahead / 8
                                                          : ahead;
      if (left_[hop.link] < ahead || (back != 0 && left_[hop.reverse_link] < back)) return at;
      left_[hop.link] = rounded(left_[hop.link], ahead);
      if (back != 0) left_[hop.reverse_link] = rounded(left_[hop.reverse_link], back);
    }
    return most;
  }

  static constexpr float kUnlimited = 5000;  // LOC_BW

  const Wiring& w_;
  const int count_;
  int cross_nic_;
  std::vector<float> left_, net_left_;
  std::vector<std::uint64_t> used_;  // a bit for each channel that a GPU is on
  NcclGraph best_, now_{};
  int least_intra_ = LOC, most_intra_ = SYS, least_inter_ = PIX, most_inter_ = SYS;
  std::span<const float> speeds_;
  std::size_t at_ = 0;  // the speed that is tried
  int steps_ = 0;       // left of the attempt
  std::int64_t budget_ = kStepsOfAll;
  int nets_type_ = kNowhere - 1;
  std::vector<std::vector<int>> nets_;
};

}  // namespace

NcclGraph nccl_graph(const Wiring& wiring, Pattern pattern, int least_channels, int most_channels,
                     int cross_nic) {
  return NcclSearch(wiring, pattern, least_channels, most_channels, cross_nic).run();
}

}  // namespace railgauge::topo
