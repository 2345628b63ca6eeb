// SPDX-License-Identifier: Apache-2.0
#include "topo/native/best_channels.h"
#include "topo/native/nccl_speeds.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>

namespace nb = nanobind;

namespace railgauge {

using ChannelRow =
    std::tuple<std::vector<int>, int, int>;  // GPUs, NIC in, NIC out; by number, -1 for none

static topo::CandidateChannel channel(const topo::Wiring& wiring, const ChannelRow& row) {
  const auto& [gpus, in, out] = row;
  const int nets = static_cast<int>(wiring.nets.size());
  std::vector<bool> seen(wiring.gpus.size());
  for (int gpu : gpus) {
    if (gpu < 0 || gpu >= static_cast<int>(seen.size()) || seen[gpu])
      throw std::out_of_range("not one visit of each GPU");
    seen[gpu] = true;
  }
  const bool ends =
      wiring.leaves ? in >= 0 && in < nets && out >= 0 && out < nets : in == -1 && out == -1;
  if (gpus.size() != seen.size() || !ends) throw std::out_of_range("not a channel of this wiring");
  return {gpus, in, out};
}

static std::vector<topo::CandidateChannel> channels(const topo::Wiring& wiring,
                                                    const std::vector<ChannelRow>& rows) {
  std::vector<topo::CandidateChannel> made;
  for (const auto& row : rows) made.push_back(channel(wiring, row));
  return made;
}

void bind_best_channels(nb::module_& m) {
  using topo::BestChannels;
  using topo::Packed;
  nb::class_<Packed>(m, "Packed", "A set of channels, all of one speed.")
      .def_ro("gb_per_s", &Packed::gb_per_s, "Of each channel.")
      .def_prop_ro("channels", [](const Packed& packed) {
        std::vector<ChannelRow> rows;
        for (const auto& made : packed.channels) rows.push_back({made.gpus, made.in, made.out});
        return rows;
      });
  nb::class_<BestChannels>(m, "BestChannels",
                           "The channels that carry the most, and the proof of how much any could.")
      .def_ro("by_count", &BestChannels::by_count)
      .def_ro("crossed", &BestChannels::crossed)
      .def_ro("bound", &BestChannels::bound)
      .def_ro("weights", &BestChannels::weights);
  m.def(
      "best_channels",
      [](const topo::Wiring& wiring, int pattern, int most_channels, double top_gb_per_s,
         int cross_nic, const std::set<int>& wanted,
         const std::vector<std::vector<ChannelRow>>& others) {
        if (wiring.gpus.size() < 2 && !wiring.leaves)
          throw std::invalid_argument("one GPU alone needs no link");
        std::vector<std::vector<topo::CandidateChannel>> made;
        for (const auto& rows : others) made.push_back(channels(wiring, rows));
        nb::gil_scoped_release unlocked;
        return topo::best_channels(wiring, static_cast<topo::Pattern>(pattern), most_channels,
                                   top_gb_per_s, cross_nic, wanted, made);
      },
      nb::kw_only(), nb::arg("wiring"), nb::arg("pattern"), nb::arg("most_channels"),
      nb::arg("top_gb_per_s"), nb::arg("cross_nic"), nb::arg("wanted"), nb::arg("others"));
  m.def(
      "nccl_speeds",
      [](const topo::Wiring& wiring, bool leaves) {
        const auto speeds = topo::nccl_speeds(wiring.least_sm, leaves);
        return std::vector<float>(speeds.begin(), speeds.end());
      },
      nb::arg("wiring"), nb::arg("leaves"), "The GB/s of a channel that NCCL tries, falling.");
  m.def(
      "channel_load",
      [](const topo::Wiring& wiring, int pattern, const std::vector<ChannelRow>& rows,
         double inside, double outside) {
        return topo::channel_load(wiring, static_cast<topo::Pattern>(pattern),
                                  channels(wiring, rows), inside, outside);
      },
      nb::arg("wiring"), nb::arg("pattern"), nb::arg("channels"), nb::arg("inside"),
      nb::arg("outside"));
  m.def(
      "speed_inside",
      [](const topo::Wiring& wiring, int pattern, const std::vector<ChannelRow>& rows,
         double outside) {
        return topo::speed_inside(wiring, static_cast<topo::Pattern>(pattern),
                                  channels(wiring, rows), outside);
      },
      nb::arg("wiring"), nb::arg("pattern"), nb::arg("channels"), nb::arg("outside"));
}

}  // namespace railgauge
