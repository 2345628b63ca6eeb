// SPDX-License-Identifier: Apache-2.0
#include "topo/native/wiring.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>

namespace nb = nanobind;

namespace railgauge {

using HopRow = std::tuple<int, int, int>;
using StepRow = std::tuple<int, float, bool, std::vector<HopRow>>;

static topo::Step step(const StepRow& row, int links) {
  topo::Step made{std::get<0>(row), std::get<1>(row), std::get<2>(row), {}};
  for (auto [link, back, share] : std::get<3>(row)) {
    if (link < 0 || link >= links || back >= links || share < 0 || share > 2)
      throw std::out_of_range("no such link");
    made.hops.push_back({link, back, static_cast<topo::Reverse>(share)});
  }
  return made;
}

void bind_wiring(nb::module_& m) {
  nb::class_<topo::Wiring>(
      m, "Wiring", "What a search of channels goes over; railgauge.topo.channels.wiring makes it.")
      .def(
          "__init__",
          [](topo::Wiring* self, const std::vector<std::tuple<float, bool>>& links,
             const std::vector<std::tuple<int, int, int, std::vector<int>>>& gpus,
             const std::vector<std::tuple<std::int64_t, int, float, float, int, std::vector<int>>>&
                 nets,
             const std::vector<StepRow>& steps, bool leaves, bool switched, bool several_hosts,
             int most_nets, bool amd, int least_sm, int cards, float most_gb_per_s,
             float card_gb_per_s) {
            const std::size_t ends = gpus.size() + nets.size();
            if (gpus.empty() || steps.size() != ends * ends)
              throw std::invalid_argument("steps do not fit the ends");
            new (self) topo::Wiring{.gpus = {},
                                    .nets = {},
                                    .links = {},
                                    .steps = {},
                                    .leaves = leaves,
                                    .switched = switched,
                                    .several_hosts = several_hosts,
                                    .most_nets = most_nets,
                                    .amd = amd,
                                    .least_sm = least_sm,
                                    .cards = cards,
                                    .most_gb_per_s = most_gb_per_s,
                                    .card_gb_per_s = card_gb_per_s};
            for (auto [gb_per_s, pci] : links) self->links.push_back({gb_per_s, pci});
            for (const auto& [rank, up, down, local] : gpus) {
              if (up >= static_cast<int>(links.size()) || down >= static_cast<int>(links.size()))
                throw std::out_of_range("no such link");
              self->gpus.push_back({rank, up, down, local});
            }
            for (const auto& [asic, port, gb_per_s, latency, gpu, near] : nets)
              self->nets.push_back({asic, port, gb_per_s, latency, gpu, near});
            for (const auto& row : steps)
              self->steps.push_back(step(row, static_cast<int>(links.size())));
          },
          nb::kw_only(), nb::arg("links"), nb::arg("gpus"), nb::arg("nets"), nb::arg("steps"),
          nb::arg("leaves"), nb::arg("switched"), nb::arg("several_hosts"), nb::arg("most_nets"),
          nb::arg("amd"), nb::arg("least_sm"), nb::arg("cards"), nb::arg("most_gb_per_s"),
          nb::arg("card_gb_per_s"))
      .def_ro("switched", &topo::Wiring::switched);
}

}  // namespace railgauge
