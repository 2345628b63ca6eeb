// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/rails.h"

namespace railgauge {

namespace {

constexpr int kAnyDevice = 0;  // if no ring leaves or enters a host through a device

int device_of(const std::map<int, int>& devices, int host) {
  const auto found = devices.find(host);
  return found == devices.end() ? kAnyDevice : found->second;
}

}  // namespace

RingRails::RingRails(const ConnectionPlan& plan) : places_(plan.ranks()) {
  for (std::size_t host = 0; host < plan.hosts.size(); ++host) {
    for (std::size_t at = 0; at < plan.hosts[host].size(); ++at) {
      places_[plan.hosts[host][at]] = {static_cast<int>(host), static_cast<int>(at)};
    }
  }
  for (const RingPlan& ring : plan.rings) {
    Rail& rail = rails_.emplace_back();
    for (const Wire& wire : ring.wires(0)) {
      if (!wire.route) continue;
      rail.leaving.emplace(places_[wire.source].host, wire.route->leaves);
      rail.entering.emplace(places_[wire.target].host, wire.route->enters);
    }
  }
}

std::optional<StepRoute> RingRails::step(int source, int target) const {
  const Place &from = places_[source], &to = places_[target];
  if (from.host == to.host) return std::nullopt;
  if (rails_.empty()) return StepRoute{kAnyDevice, kAnyDevice};
  const Rail& rail = rails_[from.position % rails_.size()];
  return StepRoute{device_of(rail.leaving, from.host), device_of(rail.entering, to.host)};
}

}  // namespace railgauge
