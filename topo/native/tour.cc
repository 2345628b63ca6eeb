// SPDX-License-Identifier: Apache-2.0
#include "topo/native/tour.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace railgauge::topo {

double tour_weight(const TourWeights& weights, const std::vector<int>& order) {
  const int n = weights.stops;
  double total = weights.closed
                     ? weights.step[order.back() * n + order.front()]
                     : weights.head[order[0] * n + order[1]] + weights.tail[order.back()];
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    total += weights.step[order[i] * n + order[i + 1]];
  return total;
}

// Held and Karp: the lightest way over each subset to each of its stops.
Tour lightest_tour(const TourWeights& weights) {
  const int n = weights.stops;
  const std::size_t states = std::size_t{1} << n;
  std::vector<double> least(states * n, HUGE_VAL);
  std::vector<std::int8_t> before(states * n);
  for (int a = 0; a < (weights.closed ? 1 : n); ++a)
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      const std::size_t at = (std::size_t{1} << a | std::size_t{1} << b) * n + b;
      const double weight =
          weights.step[a * n + b] + (weights.closed ? 0 : weights.head[a * n + b]);
      if (weight > least[at]) continue;
      least[at] = weight;
      before[at] = static_cast<std::int8_t>(a);
    }
  for (std::size_t set = 3; set < states; ++set)
    for (int last = 0; last < n; ++last) {
      const double so_far = least[set * n + last];
      if (so_far == HUGE_VAL) continue;
      for (int next = 0; next < n; ++next) {
        if (set >> next & 1) continue;
        const std::size_t at = (set | std::size_t{1} << next) * n + next;
        const double weight = so_far + weights.step[last * n + next];
        if (weight > least[at]) continue;  // of equals the next number is preferred
        least[at] = weight;
        before[at] = static_cast<std::int8_t>(last);
      }
    }
  Tour found{HUGE_VAL, {}};
  int last = -1;
  for (int stop = 0; stop < n; ++stop) {
    const double end = weights.closed ? weights.step[stop * n] : weights.tail[stop];
    const double weight = least[(states - 1) * n + stop] + end;
    if (weight <= found.weight && weight < HUGE_VAL) found.weight = weight, last = stop;
  }
  if (last < 0) return found;
  std::size_t set = states - 1;
  for (int left = n; left > 1; --left) {
    found.order.push_back(last);
    const int previous = before[set * n + last];
    set ^= std::size_t{1} << last;
    last = previous;
  }
  found.order.push_back(last);
  std::reverse(found.order.begin(), found.order.end());
  return found;
}

namespace {

// The same as a closed tour: an open one goes round by a stop of its own (the last), which stands
// for its ends.
struct TourRound {
  int stops;
  std::vector<double> step;

  explicit TourRound(const TourWeights& weights)
      : stops(weights.stops + (weights.closed ? 0 : 1)),
        step(static_cast<std::size_t>(stops) * stops, HUGE_VAL) {
    const int n = weights.stops;
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b)
        if (a != b) step[a * stops + b] = weights.step[a * n + b];
    if (weights.closed) return;
    for (int a = 0; a < n; ++a) {
      step[a * stops + n] = weights.tail[a];
      for (int b = 0; b < n; ++b)
        if (a != b) step[n * stops + a] = std::min(step[n * stops + a], weights.head[a * n + b]);
    }
  }

  double operator()(int a, int b) const { return step[a * stops + b]; }

  std::vector<int> nearest_from(int first) const {
    std::vector<int> order{first};
    std::vector<bool> seen(stops);
    seen[first] = true;
    while (static_cast<int>(order.size()) < stops) {
      int next = -1;
      for (int stop = 0; stop < stops; ++stop)
        if (!seen[stop] && (next < 0 || (*this)(order.back(), stop) < (*this)(order.back(), next)))
          next = stop;
      seen[next] = true;
      order.push_back(next);
    }
    return order;
  }

  double weight(const std::vector<int>& order) const {
    double total = (*this)(order.back(), order.front());
    for (int i = 0; i + 1 < stops; ++i) total += (*this)(order[i], order[i + 1]);
    return total;
  }

  // A step that is not possible, as one that is dearer than all others together: a tour with one is
  // still to improve.
  void make_comparable() {
    double all = 1;
    for (double weight : step)
      if (weight != HUGE_VAL) all += weight;
    std::replace(step.begin(), step.end(), HUGE_VAL, all);
  }

  // Moves segments of up to three stops elsewhere, either way round, while that helps.
  void improve(std::vector<int>& order) const {
    static constexpr double NOTEWORTHY = 1e-9;
    static constexpr int SWEEPS_OF_MANY = 1000;
    const double least_gain = NOTEWORTHY * weight(order);
    auto at = [&](int i) { return order[i < stops ? i : i - stops]; };
    int sweeps = std::max(2, SWEEPS_OF_MANY / stops);
    for (bool better = true; better && sweeps > 0; --sweeps) {
      better = false;
      for (int length = 1; length <= 3 && length + 2 <= stops; ++length)
        for (int from = 0; from < stops; ++from) {
          const int first = at(from), last = at(from + length - 1), before = at(from + stops - 1),
                    after = at(from + length);
          double inside = 0, back = 0;
          for (int i = from; i < from + length - 1; ++i)
            inside += (*this)(at(i), at(i + 1)), back += (*this)(at(i + 1), at(i));
          const double out =
              (*this)(before, first) + (*this)(last, after) + inside - (*this)(before, after);
          double gain = least_gain;
          int place = -1;
          bool turned = false;
          for (int to = from + length; to < from + stops - 1; ++to) {
            const int a = at(to), b = at(to + 1);
            const double ahead =
                out - ((*this)(a, first) + (*this)(last, b) + inside - (*this)(a, b));
            const double round =
                out - ((*this)(a, last) + (*this)(first, b) + back - (*this)(a, b));
            if (ahead > gain) gain = ahead, place = to, turned = false;
            if (round > gain) gain = round, place = to, turned = true;
          }
          if (place < 0) continue;
          move(order, from, length, place, turned);
          better = true;
        }
    }
  }

 private:
  void move(std::vector<int>& order, int from, int length, int place, bool turned) const {
    std::vector<int> segment, rest;
    for (int i = from; i < from + length; ++i) segment.push_back(order[i % stops]);
    if (turned) std::reverse(segment.begin(), segment.end());
    for (int i = from + length; i < from + stops; ++i) {
      rest.push_back(order[i % stops]);
      if (i == place) rest.insert(rest.end(), segment.begin(), segment.end());
    }
    order = std::move(rest);
  }
};

}  // namespace

Tour light_tour(const TourWeights& weights) {
  static constexpr int FEW_STARTS = 5;
  TourRound round(weights);
  round.make_comparable();
  Tour found{HUGE_VAL, {}};
  const int stride = (round.stops + FEW_STARTS - 1) / FEW_STARTS;
  for (int first = 0; first < round.stops; first += stride) {
    std::vector<int> order = round.nearest_from(first);
    round.improve(order);
    const int head = weights.closed ? 0 : weights.stops;
    std::rotate(order.begin(), std::find(order.begin(), order.end(), head), order.end());
    if (!weights.closed) order.erase(order.begin());
    const double weight = tour_weight(weights, order);
    if (weight < found.weight) found = {weight, order};
  }
  return found;
}

namespace {

// The lightest assignment of a next stop to each, by shortest augmenting paths (Jonker and
// Volgenant); takes its dual prices off the steps, which leaves what each weighs beyond.
double assign(int n, std::vector<double>& step) {
  std::vector<double> row(n + 1), column(n + 1);
  std::vector<int> owner(n + 1, 0), way(n + 1, 0);
  for (int i = 1; i <= n; ++i) {
    owner[0] = i;
    int at = 0;
    std::vector<double> least(n + 1, HUGE_VAL);
    std::vector<bool> used(n + 1);
    do {
      used[at] = true;
      const int here = owner[at];
      double delta = HUGE_VAL;
      int next = -1;
      for (int j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const double reduced = step[(here - 1) * n + j - 1] - row[here] - column[j];
        if (reduced < least[j]) least[j] = reduced, way[j] = at;
        if (least[j] < delta) delta = least[j], next = j;
      }
      if (next < 0) return HUGE_VAL;
      for (int j = 0; j <= n; ++j) {
        if (used[j])
          row[owner[j]] += delta, column[j] -= delta;
        else
          least[j] -= delta;
      }
      at = next;
    } while (owner[at] != 0);
    for (; at != 0; at = way[at]) owner[at] = owner[way[at]];
  }
  double total = 0;
  for (int i = 1; i <= n; ++i) total += row[i] + column[i];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      step[i * n + j] = std::max(0.0, step[i * n + j] - row[i + 1] - column[j + 1]);
  return total;
}

// The lightest set of steps by which each stop is reached from `root` (Chu, Liu, Edmonds), by
// contracting cycles.
double arborescence(int n, std::vector<double> step, int root) {
  double total = 0;
  for (;;) {
    std::vector<int> before(n, -1);
    for (int stop = 0; stop < n; ++stop) {
      if (stop == root) continue;
      for (int from = 0; from < n; ++from)
        if (from != stop &&
            (before[stop] < 0 || step[from * n + stop] < step[before[stop] * n + stop]))
          before[stop] = from;
      if (before[stop] < 0 || step[before[stop] * n + stop] == HUGE_VAL) return HUGE_VAL;
      total += step[before[stop] * n + stop];
    }
    std::vector<int> group(n, -1), seen(n, -1);
    int groups = 0;
    for (int stop = 0; stop < n; ++stop) {
      int at = stop;
      while (at != root && seen[at] < 0 && group[at] < 0) seen[at] = stop, at = before[at];
      if (at != root && group[at] < 0 && seen[at] == stop) {
        for (int on = before[at]; on != at; on = before[on]) group[on] = groups;
        group[at] = groups++;
      }
    }
    if (groups == 0) return total;
    for (int stop = 0; stop < n; ++stop)
      if (group[stop] < 0) group[stop] = groups++;
    std::vector<double> smaller(static_cast<std::size_t>(groups) * groups, HUGE_VAL);
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) {
        if (a == b || group[a] == group[b]) continue;
        double& entry = smaller[group[a] * groups + group[b]];
        const double paid = b == root ? 0 : step[before[b] * n + b];
        entry = std::min(entry, step[a * n + b] - paid);
      }
    root = group[root];
    n = groups;
    step = std::move(smaller);
  }
}

}  // namespace

double least_tour_weight(const TourWeights& weights) {
  TourRound round(weights);
  const double assigned = assign(round.stops, round.step);
  if (assigned == HUGE_VAL) return HUGE_VAL;
  const int root = round.stops - 1;
  double into_root = HUGE_VAL;
  for (int stop = 0; stop < root; ++stop) into_root = std::min(into_root, round(stop, root));
  return assigned + arborescence(round.stops, round.step, root) + into_root;
}

}  // namespace railgauge::topo
