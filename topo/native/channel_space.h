// SPDX-License-Identifier: Apache-2.0
// All channels that there could be over a wiring, and what each takes from the links.
#pragma once

#include <vector>

#include "topo/native/nccl_search.h"
#include "topo/native/wiring.h"

namespace railgauge::topo {

// One ring or tree: its GPUs by number in order, and the NICs by which it comes in and leaves (-1:
// none).
struct CandidateChannel {
  std::vector<int> gpus;
  int in = -1;
  int out = -1;

  auto operator<=>(const CandidateChannel&) const = default;
};

// What a channel takes from a row, as a share of its speed.
struct Share {
  int row;
  double part;
};
using Shares = std::vector<Share>;

// Something that channels share: a link, or (link -1) the port behind several NICs.
struct Row {
  double gb_per_s;
  int link;
};

// What a channel is made of: a closed ring, or an open chain of GPUs with what joins it to the
// NICs.
enum class Shape {
  cycle,     // ring of one node
  chain,     // tree of one node
  through,   // ring of several: NIC, all GPUs, NIC
  tree,      // NIC to the first GPU and back, chain
  balanced,  // the same, with half of the way back from the second GPU
};

// Which loads count. The proof of a bound leaves out what link weights cannot express (ports behind
// several NICs) and what those who check it need not know of (loads on links back): fewer loads
// only make the bound higher.
enum class Loads { all, provable };

class ChannelSpace {
 public:
  ChannelSpace(const Wiring& wiring, Pattern pattern, Loads loads);

  int gpus() const { return gpus_; }
  int nets() const { return nets_; }
  Shape shape() const { return shape_; }
  bool leaves() const { return shape_ >= Shape::through; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<int>& rails() const { return rails_; }  // by NIC: equal for those of one port
  int rail_count() const { return rail_count_; }
  bool provable() const { return provable_; }  // all its loads are

  // Weight of the step between two ends (GPUs first, then NICs), given the rows' weights; HUGE_VAL
  // without a path.
  double step_weight(int from, int to, const std::vector<double>& weights) const;
  // What a channel takes whose steps between GPUs run at `inside` times its speed, and those to
  // NICs at `outside`.
  Shares load(const CandidateChannel& channel, double inside = 1, double outside = 1) const;

 private:
  struct Way {
    bool open = false;
    Shares shares;
  };

  void add_steps(const Wiring& wiring, Loads loads);
  void add_ports(const Wiring& wiring);
  void keep_what_can_limit();
  const Way& way(int from, int to) const { return ways_[from * (gpus_ + nets_) + to]; }

  int gpus_;
  int nets_;
  Shape shape_;
  int rail_count_ = 0;
  bool provable_ = true;
  std::vector<int> rails_;
  std::vector<Row> rows_;
  std::vector<Way> ways_;
};

}  // namespace railgauge::topo
