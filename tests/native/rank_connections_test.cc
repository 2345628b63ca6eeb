// SPDX-License-Identifier: Apache-2.0
// What a plan connects, and by which routes.
#include "collectives/native/rank_connections.h"

#include "collectives/native/default_choices.h"
#include "collectives/native/rails.h"
#include "tests/native/world.h"

namespace railgauge {
namespace {

bool goes(const std::optional<StepRoute>& route, int leaves, int enters) {
  return route && route->leaves == leaves && route->enters == enters;
}

// Two rings, which leave and enter the hosts by other devices; the third position shares the first
// one.
void ranks_of_one_position_go_by_one_rail() {
  ConnectionPlan plan;
  plan.hosts = {{0, 1, 2}, {3, 4, 5}};
  const std::optional<StepRoute> near;
  plan.rings = {{{0, 1, 2, 3, 4, 5}, {near, near, StepRoute{0, 1}, near, near, StepRoute{2, 3}}},
                {{2, 1, 0, 5, 4, 3}, {near, near, StepRoute{4, 5}, near, near, StepRoute{6, 7}}}};
  const RingRails rails(plan);
  REQUIRE(goes(rails.step(0, 3), 0, 1) && goes(rails.step(1, 4), 4, 5));
  REQUIRE(goes(rails.step(2, 5), 0, 1) && goes(rails.step(3, 0), 2, 3));
  REQUIRE(goes(rails.step(4, 1), 6, 7) && goes(rails.step(5, 2), 2, 3));
  REQUIRE(!rails.step(0, 2) && goes(rails.step(0, 4), 0, 1));
}

// Remembers what it was asked for.
class Asked final : public Connector {
 public:
  std::vector<Wire> wires;
  std::vector<int> sharing;

  std::vector<std::shared_ptr<Connection>> connect(const std::vector<Wire>& some) override {
    wires.insert(wires.end(), some.begin(), some.end());
    return std::vector<std::shared_ptr<Connection>>(some.size());
  }
  std::shared_ptr<shm::SharedSegment> shared_segment(const std::vector<int>& ranks) override {
    sharing = ranks;
    return nullptr;
  }
};

void a_plan_of_two_hosts_crosses_where_the_ring_does_and_by_position() {
  const ConnectionPlan plan = default_plan({{0, 2}, {1, 3}}, {});
  REQUIRE((plan.rings[0].order == std::vector<int>{0, 2, 1, 3}));
  Asked asked;
  const RankConnections made = connect(1, 4, plan, asked);
  REQUIRE((asked.sharing == std::vector<int>{1, 3}));
  REQUIRE(made.hosts.own == 1 && made.across.order == (std::vector<int>{0, 1}));
  REQUIRE((made.cube.order == std::vector<int>{0, 2, 1, 3}));
  for (const Wire& wire : asked.wires) {
    REQUIRE(wire.route.has_value() == (wire.source % 2 != wire.target % 2));
    REQUIRE(wire.channel == 0 || wire.channel == 2 || wire.channel == 3);  // 1: pairs
  }
  asked.wires.clear();
  connect_pairs(1, 4, made.hosts, 1, asked);
  REQUIRE(asked.wires.size() == 12);
}

void a_plan_of_other_ranks_is_refused() {
  const auto refused = [](const ConnectionPlan& plan) {
    Asked asked;
    return code_of([&] { connect(0, 2, plan, asked); }) == ErrorCode::kInvalid &&
           asked.wires.empty();
  };
  const Routes near(2);
  ConnectionPlan plan{{{0, 1}}, {{{0, 1}, near}}, {{{-1, 0}, near, near}}};
  plan.check(2);
  REQUIRE(refused({{{0, 1, 2}}, {}, {}}) && refused({{{0, 0}}, {}, {}}) && refused({}));
  REQUIRE(refused({{{0, 1}}, {{{0, 2}, near}}, {}}) && refused({{{0, 1}}, {{{0, 1}, {}}}, {}}));
  REQUIRE(refused({{{0, 1}}, {}, {{{-1, 5}, near, near}}}));
  REQUIRE(refused({{{0, 1}}, {}, {{{-1, 0}, near, {}}}}));
  REQUIRE(code_of([] { default_plan({{0, 1}}, {{0, 7}}); }) == ErrorCode::kInvalid);
}

}  // namespace
}  // namespace railgauge

int main() {
  railgauge::ranks_of_one_position_go_by_one_rail();
  railgauge::a_plan_of_two_hosts_crosses_where_the_ring_does_and_by_position();
  railgauge::a_plan_of_other_ranks_is_refused();
}
