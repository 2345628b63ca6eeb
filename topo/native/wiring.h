// SPDX-License-Identifier: Apache-2.0
// What a search of channels goes over: GPUs (or host ranks), NICs, links with what they carry, and
// the step from each of these ends to each other with what it takes from the links. Figures are
// float, in GB/s, as NCCL computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railgauge::topo {

// Path types in NCCL's order; the Python side calls them PATH_TYPES.
enum PathType : int { LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, NET, DIS };

// What a hop takes from the link back, as a share of what it takes ahead (`followPath` of NCCL's
// src/graph/search.cc).
enum class Reverse : int { none = 0, eighth = 1, full = 2 };

struct WireLink {
  float gb_per_s;
  bool pci;
};

struct Hop {
  int link;
  int reverse_link;  // -1 where `reverse` is none
  Reverse reverse;
};

// The way from one end to another. `small_packets`: Intel's PCI roots cut it up, which costs 6/5 on
// each PCI link.
struct Step {
  int type = DIS;
  float gb_per_s = 0;
  bool small_packets = false;
  std::vector<Hop> hops;
};

struct WiredGpu {
  int rank;
  int pci_up;  // its own PCI link, and the one back; -1 without one
  int pci_down;
  std::vector<int> local_nets;  // by channel: the NICs that it uses
};

struct WiredNet {
  std::int64_t asic;
  int port;
  float gb_per_s;
  float latency_us;
  int local_gpu;               // that it serves first; -1 for none
  std::vector<int> near_gpus;  // those nearest to it
};

// One node of a cluster as a search sees it.
struct Wiring {
  std::vector<WiredGpu> gpus;
  std::vector<WiredNet> nets;
  std::vector<WireLink> links;
  std::vector<Step>
      steps;    // from end x to end y at x * ends + y: GPUs first, then NICs; none between two NICs
  bool leaves;  // channels come in and leave by NICs: it is one of several nodes, or a part of one
  bool switched;       // has an NVSwitch
  bool several_hosts;  // GPUs of several hosts in one NVLink domain
  int most_nets;       // that a GPU may use (NCCL_NETDEVS_POLICY=MAX:n); 0 for no such limit
  bool amd;            // its first CPU is one of AMD's
  int least_sm;        // among all cards
  int cards;
  float most_gb_per_s;  // of the fastest path between cards, or to a NIC when it leaves
  float card_gb_per_s;  // all that leaves the card with the most

  std::size_t ends() const { return gpus.size() + nets.size(); }
  int net_end(int net) const { return static_cast<int>(gpus.size()) + net; }
  const Step& step(int from, int to) const { return steps[from * ends() + to]; }
};

}  // namespace railgauge::topo
