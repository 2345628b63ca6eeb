// SPDX-License-Identifier: Apache-2.0
#include "topo/native/lightest_channel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace railgauge::topo {

LightestChannel::LightestChannel(const ChannelSpace& space, Crossing crossing)
    : space_(space), paired_(crossing == Crossing::pairs && space.shape() == Shape::through) {
  std::vector<int> all(space.nets());
  std::iota(all.begin(), all.end(), 0);
  if (space.shape() == Shape::tree) {
    for (int net : all) gates_.push_back({{net}, {net}});
  } else if (crossing != Crossing::none || !space.leaves()) {
    gates_.push_back({all, all});
  } else {
    gates_.resize(space.rail_count());
    for (int net : all) {
      gates_[space.rails()[net]].in.push_back(net);
      gates_[space.rails()[net]].out.push_back(net);
    }
  }
}

LightestChannel::Weights LightestChannel::between_ends(const Weights& weights) const {
  Weights ends(static_cast<std::size_t>(count()) * count(), HUGE_VAL);
  for (int from = 0; from < count(); ++from)
    for (int to = 0; to < count(); ++to)
      ends[from * count() + to] = space_.step_weight(from, to, weights);
  return ends;
}

double LightestChannel::entry(const Weights& ends, int net, int first) const {
  return ends[(space_.gpus() + net) * count() + first];
}

// What leaving by a NIC weighs, given the first two GPUs and the last.
double LightestChannel::leave(const Weights& ends, int net, const std::vector<int>& order) const {
  auto way = [&](int gpu) { return ends[gpu * count() + space_.gpus() + net]; };
  if (space_.shape() == Shape::through) return way(order.back());
  return space_.shape() == Shape::tree ? way(order[0]) : (way(order[0]) + way(order[1])) / 2;
}

double LightestChannel::head(const Weights& ends, const Gates& gates, int first, int second) const {
  double in = HUGE_VAL, out = HUGE_VAL;
  for (int net : gates.in) in = std::min(in, entry(ends, net, first));
  if (space_.shape() == Shape::through) return in;
  for (int net : gates.out) out = std::min(out, leave(ends, net, {first, second}));
  return in + out;
}

// One tour for each choice of NICs that ties its last GPU to its first; all choices in one where
// they do not.
std::vector<TourWeights> LightestChannel::tours(const Weights& ends,
                                                const std::vector<Gates>& gates) const {
  const int n = space_.gpus();
  const bool through = space_.shape() == Shape::through;
  std::vector<TourWeights> found(through ? gates.size() : 1,
                                 TourWeights{n, space_.shape() == Shape::cycle, {}, {}, {}});
  for (auto& tour : found) {
    tour.step.resize(static_cast<std::size_t>(n) * n);
    for (int a = 0; a < n; ++a) std::copy_n(&ends[a * count()], n, &tour.step[a * n]);
    tour.head.assign(static_cast<std::size_t>(n) * n, space_.leaves() ? HUGE_VAL : 0);
    tour.tail.assign(n, through ? HUGE_VAL : 0);
  }
  for (std::size_t choice = 0; space_.leaves() && choice < gates.size(); ++choice) {
    TourWeights& tour = found[through ? choice : 0];
    for (int a = 0; a < n; ++a) {
      const double alone = through ? head(ends, gates[choice], a, a) : 0;
      for (int b = 0; b < n; ++b) {
        double& entry = tour.head[a * n + b];
        if (a != b) entry = std::min(entry, through ? alone : head(ends, gates[choice], a, b));
      }
      for (int net : gates[choice].out)
        if (through) tour.tail[a] = std::min(tour.tail[a], leave(ends, net, {a}));
    }
  }
  return found;
}

static std::vector<std::size_t> all(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// The few tours whose ends weigh least.
static std::vector<std::size_t> promising(const std::vector<TourWeights>& tours) {
  static constexpr std::size_t FEW = 8;
  std::vector<double> ends;
  for (const auto& [stops, closed, step, head, tail] : tours)
    ends.push_back(*std::min_element(head.begin(), head.end()) +
                   *std::min_element(tail.begin(), tail.end()));
  auto numbers = all(tours.size());
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&](auto a, auto b) { return ends[a] < ends[b]; });
  numbers.resize(std::min(FEW, numbers.size()));
  return numbers;
}

CandidateChannel LightestChannel::channel(Search search, const Weights& ends,
                                          const std::vector<Gates>& gates) const {
  const bool alone = space_.gpus() == 1;
  Tour best{HUGE_VAL, {}};
  std::size_t choice = 0;
  const auto possible = alone ? std::vector<TourWeights>{} : tours(ends, gates);
  if (alone) best.order = {0};
  for (std::size_t i : search == light_tour ? promising(possible) : all(possible.size())) {
    Tour tour = search(possible[i]);
    if (tour.weight < best.weight) best = std::move(tour), choice = i;
  }
  CandidateChannel found{std::move(best.order)};
  if (found.gpus.empty() || !space_.leaves()) return found;
  double least = HUGE_VAL;
  const bool tied = space_.shape() == Shape::through && !alone;
  for (std::size_t i = tied ? choice : 0; i < (tied ? choice + 1 : gates.size()); ++i)
    for (int in : gates[i].in)
      for (int out : gates[i].out) {
        const double weight = entry(ends, in, found.gpus.front()) + leave(ends, out, found.gpus);
        // A ring that could as well leave by the NIC it came in by does.
        const double preferred = weight - (in == out ? 1e-12 * (1 + std::abs(weight)) : 0);
        if (preferred < least) least = preferred, found.in = in, found.out = out;
      }
  return found.in < 0 ? CandidateChannel{} : found;
}

static Shares together(const Shares& a, const Shares& b) {
  std::map<int, double> parts;
  for (const Shares& shares : {a, b})
    for (auto [row, part] : shares) parts[row] += part;
  Shares total;
  for (auto [row, part] : parts) total.push_back({row, part});
  return total;
}

Lanes LightestChannel::lanes(Search search, const Weights& weights) const {
  const Weights ends = between_ends(weights);
  if (paired_) return pair(search, ends, weights);
  const CandidateChannel found = channel(search, ends, gates_);
  return found.gpus.empty() ? Lanes{} : Lanes{{found}, space_.load(found)};
}

// Between each two NICs where those are few; else between those that the lightest ring takes.
Lanes LightestChannel::pair(Search search, const Weights& ends, const Weights& weights) const {
  static constexpr int FEW_NETS = 4;
  std::vector<std::vector<Gates>> choices;
  for (int in = 0; in < space_.nets() && space_.nets() <= FEW_NETS; ++in)
    for (int out = in; out < space_.nets(); ++out) choices.push_back({{{in}, {out}}});
  if (choices.empty()) choices.push_back(gates_);
  Lanes lightest;
  double least = HUGE_VAL;
  for (const auto& choice : choices) {
    const CandidateChannel first = channel(search, ends, choice);
    if (first.gpus.empty()) continue;
    const CandidateChannel second = channel(search, ends, {{{first.out}, {first.in}}});
    if (second.gpus.empty()) continue;
    Lanes lanes{{first, second}, together(space_.load(first), space_.load(second))};
    const double weighs = weight(lanes, weights);
    if (weighs < least) least = weighs, lightest = std::move(lanes);
  }
  return lightest;
}

Lanes LightestChannel::lightest(const Weights& weights) const {
  return lanes(lightest_tour, weights);
}

Lanes LightestChannel::light(const Weights& weights) const { return lanes(light_tour, weights); }

double LightestChannel::least_weight(const Weights& weights) const {
  double least = HUGE_VAL;
  for (const TourWeights& tour : tours(between_ends(weights), gates_))
    least = std::min(least, space_.gpus() <= MOST_EXACT_STOPS ? lightest_tour(tour).weight
                                                              : least_tour_weight(tour));
  return least;
}

double LightestChannel::weight(const Lanes& lanes, const Weights& weights) const {
  double total = 0;
  for (auto [row, part] : lanes.load) total += part * weights[row];
  return total / at_once();
}

}  // namespace railgauge::topo
