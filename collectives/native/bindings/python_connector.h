// SPDX-License-Identifier: Apache-2.0
// Connections that Python makes (collectives/connections.py), for the plans of the engine.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/native/connection_plan.h"
#include "transports/native/connector.h"

namespace railgauge {

// Plans as Python has them (collectives/plan.py): a route is None or [leaves, enters].
using PythonRoute = std::optional<std::vector<int>>;
using PythonRoutes = std::vector<PythonRoute>;
using PythonRing = std::pair<std::vector<int>, PythonRoutes>;
using PythonTree = std::tuple<std::vector<int>, PythonRoutes, PythonRoutes>;
// Channel, from rank, to rank, route.
using PythonWire = std::tuple<int, int, int, PythonRoute>;

std::vector<RingPlan> ring_plans(const std::vector<PythonRing>& rings);
std::vector<TreePlan> tree_plans(const std::vector<PythonTree>& trees);
std::vector<Wire> wires_of(const std::vector<PythonWire>& wires);

// For the time of a call: an object that referred to Python's would be in a circle with it.
class PythonConnector final : public Connector {
 public:
  explicit PythonConnector(nanobind::handle made_in_python) : python_(made_in_python) {}
  std::vector<std::shared_ptr<Connection>> connect(const std::vector<Wire>& wires) override;
  std::shared_ptr<shm::SharedSegment> shared_segment(const std::vector<int>& ranks) override;

 private:
  nanobind::handle python_;
};

}  // namespace railgauge
