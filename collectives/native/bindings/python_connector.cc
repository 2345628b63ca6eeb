// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/bindings/python_connector.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "transports/native/error.h"

namespace nb = nanobind;

namespace railgauge {

namespace {

std::optional<StepRoute> route_of(const PythonRoute& devices) {
  if (!devices) return std::nullopt;
  if (devices->size() != 2) {
    throw Error(ErrorCode::kInvalid, "a route has two devices: where it leaves and enters");
  }
  return StepRoute{devices->front(), devices->back()};
}

Routes routes_of(const PythonRoutes& routes) {
  Routes all;
  for (const auto& one : routes) all.push_back(route_of(one));
  return all;
}

}  // namespace

std::vector<RingPlan> ring_plans(const std::vector<PythonRing>& rings) {
  std::vector<RingPlan> plans;
  for (const auto& [order, routes] : rings) plans.push_back({order, routes_of(routes)});
  return plans;
}

std::vector<TreePlan> tree_plans(const std::vector<PythonTree>& trees) {
  std::vector<TreePlan> plans;
  for (const auto& [parents, up, down] : trees) {
    plans.push_back({parents, routes_of(up), routes_of(down)});
  }
  return plans;
}

std::vector<Wire> wires_of(const std::vector<PythonWire>& wires) {
  std::vector<Wire> all;
  for (const auto& [channel, source, target, devices] : wires) {
    all.push_back({channel, source, target, route_of(devices)});
  }
  return all;
}

std::vector<std::shared_ptr<Connection>> PythonConnector::connect(const std::vector<Wire>& wires) {
  std::vector<PythonWire> told;
  for (const Wire& wire : wires) {
    PythonRoute devices;
    if (wire.route) devices = {wire.route->leaves, wire.route->enters};
    told.emplace_back(wire.channel, wire.source, wire.target, devices);
  }
  auto made = nb::cast<std::vector<std::shared_ptr<Connection>>>(
      nb::object(python_.attr("connect")(nb::cast(told))));
  if (made.size() != wires.size()) {
    throw Error(ErrorCode::kInvalid, "a connector made another number of connections");
  }
  return made;
}

std::shared_ptr<shm::SharedSegment> PythonConnector::shared_segment(const std::vector<int>& ranks) {
  return nb::cast<std::shared_ptr<shm::SharedSegment>>(
      nb::object(python_.attr("shared_segment")(nb::cast(ranks))));
}

}  // namespace railgauge
