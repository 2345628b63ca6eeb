// SPDX-License-Identifier: Apache-2.0
// The searches of channels without Python, over wirings made here: four GPUs in a mesh, one of
// several nodes with two NICs, and a chain of many. Made for sanitizers.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "tests/native/require.h"
#include "topo/native/best_channels.h"
#include "topo/native/nccl_search.h"

namespace railgauge::topo {
namespace {

constexpr float NVLINK = 20, NIC = 12;
constexpr double TOP = 48;

// A link of its own from each GPU to each other one, and one in and out for each NIC.
Wiring mesh(int gpus, int nets) {
  Wiring wiring{};
  wiring.leaves = nets > 0;
  wiring.least_sm = 80;
  wiring.cards = gpus;
  wiring.most_nets = 64;
  wiring.most_gb_per_s = nets > 0 ? NIC : NVLINK;
  wiring.card_gb_per_s = NVLINK * static_cast<float>(gpus - 1);
  std::vector<int> all_gpus(gpus), all_nets(nets);
  std::iota(all_gpus.begin(), all_gpus.end(), 0);
  std::iota(all_nets.begin(), all_nets.end(), 0);
  for (int gpu = 0; gpu < gpus; ++gpu) wiring.gpus.push_back({gpu, -1, -1, all_nets});
  for (int net = 0; net < nets; ++net) wiring.nets.push_back({net, 1, NIC, 0, net, all_gpus});
  auto link = [&](float gb_per_s) {
    wiring.links.push_back({gb_per_s, false});
    return static_cast<int>(wiring.links.size()) - 1;
  };
  std::vector<int> in, out;
  for (int net = 0; net < nets; ++net) in.push_back(link(NIC)), out.push_back(link(NIC));
  for (int from = 0; from < gpus + nets; ++from)
    for (int to = 0; to < gpus + nets; ++to) {
      const int wire = from >= gpus && to < gpus   ? in[from - gpus]
                       : from < gpus && to >= gpus ? out[to - gpus]
                       : from < gpus && from != to ? link(NVLINK)
                                                   : -1;
      const float speed = from < gpus && to < gpus ? NVLINK : NIC;
      wiring.steps.push_back(
          wire < 0 ? Step{}
                   : Step{speed == NIC ? PIX : NVL, speed, false, {{wire, -1, Reverse::none}}});
    }
  return wiring;
}

void check(const Wiring& wiring, Pattern pattern, double least) {
  const BestChannels found = best_channels(wiring, pattern, 32, TOP, 2, {}, {});
  double most = 0;
  for (const auto& [count, packed] : found.by_count) {
    REQUIRE(static_cast<int>(packed.channels.size()) == count && count <= 32);
    REQUIRE(channel_load(wiring, pattern, packed.channels, packed.gb_per_s, packed.gb_per_s) <=
            1 + 1e-5);
    most = std::max(most, packed.total());
  }
  double weighs = 0;
  for (auto [link, weight] : found.weights) weighs += weight * wiring.links[link].gb_per_s;
  REQUIRE(std::abs(weighs - found.bound) <= 1e-4 * found.bound);
  REQUIRE(most >= least && most <= found.bound * (1 + 1e-5));
}

void best_uses_what_the_links_have() {
  check(mesh(4, 0), Pattern::ring, 59.9);  // three rings share the twelve links
  check(mesh(4, 0), Pattern::balanced_tree, 78);
  check(mesh(4, 2), Pattern::ring, 23.9);  // both NICs
  check(mesh(4, 2), Pattern::balanced_tree, 23.9);
  check(mesh(4, 2), Pattern::tree, 23.9);
  check(mesh(18, 0), Pattern::ring, 100);  // more than are searched exactly
  check(mesh(1, 1), Pattern::ring, 11.9);
}

void nccl_answers(const Wiring& wiring) {
  const NcclGraph ring = nccl_graph(wiring, Pattern::ring, 1, 32, 2);
  REQUIRE(ring.channels > 0 && ring.total() > 0);
  REQUIRE(ring.order.size() == ring.channels * wiring.gpus.size());
  const NcclGraph tree = nccl_graph(wiring, Pattern::balanced_tree, 1, ring.channels, 2);
  REQUIRE(tree.channels > 0 && tree.channels <= ring.channels);
}

void unconnected_gpus_have_no_channel() {
  Wiring wiring = mesh(3, 0);
  for (int other : {1, 2}) wiring.steps[0 * 3 + other] = wiring.steps[other * 3] = Step{};
  REQUIRE(best_channels(wiring, Pattern::ring, 32, TOP, 2, {}, {}).by_count.empty());
}

}  // namespace
}  // namespace railgauge::topo

int main() {
  using namespace railgauge::topo;
  best_uses_what_the_links_have();
  for (auto [gpus, nets] : {std::pair(4, 0), {4, 2}, {8, 4}}) nccl_answers(mesh(gpus, nets));
  unconnected_gpus_have_no_channel();
  std::puts("ok");
}
