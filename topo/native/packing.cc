// SPDX-License-Identifier: Apache-2.0
#include "topo/native/packing.h"

#include "topo/native/channel_exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace railgauge::topo {

static constexpr double LOAD_STEEPNESS = 16, SAME = 1e-3, SLACK = 1e-6, MOST_EXPONENT = 150;
static constexpr double HALFWAY = 0.5;  // from the goal to what was reached
static constexpr int PASSES = 6;
static constexpr double EXCHANGE_EFFORT = 5e6;
static constexpr double EFFORT = 3e7;  // elementary steps of the search for lightest channels

namespace {

double rounded_down(double gb_per_s) {
  const double parts = gb_per_s >= 1 ? 1e3 : std::pow(10, 3 - std::floor(std::log10(gb_per_s)));
  return std::floor(gb_per_s * parts * (1 + SLACK)) / parts;
}

class Packer {
 public:
  Packer(const ChannelSpace& space, const LightestChannel& lightest,
         const FractionalPacking& fractions, const PackingTask& task)
      : space_(space), lightest_(lightest), fractions_(fractions), task_(task) {}

  std::map<int, Packed> run(const std::vector<std::vector<CandidateChannel>>& others) {
    std::map<int, Set> sets;
    for (int count = lightest_.at_once(); count <= task_.most_channels;
         count += lightest_.at_once())
      keep(sets, count, start(count));
    if (lightest_.at_once() == 1)
      for (const auto& channels : others) {
        Set set;
        for (const CandidateChannel& channel : channels)
          set.push_back({{channel}, space_.load(channel)});
        keep(sets, static_cast<int>(channels.size()), set);
      }
    improve(sets);
    exchange(sets);
    std::map<int, Packed> found;
    for (const auto& [count, set] : sets) found[count] = packed(set);
    return found;
  }

 private:
  using Set = std::vector<Lanes>;

  double speed(const Set& set) const {
    const auto taken = load(set);
    return std::min(task_.top_gb_per_s, 1 / *std::max_element(taken.begin(), taken.end()));
  }

  double total(int count, const std::map<int, Set>& sets) const {
    auto found = sets.find(count);
    return found == sets.end() || found->second.empty() ? 0 : count * speed(found->second);
  }

  std::vector<double> load(const Set& set) const {
    std::vector<double> taken(space_.rows().size(), 0.0);
    for (const Lanes& lanes : set) put(taken, lanes, 1);
    return taken;
  }

  void put(std::vector<double>& taken, const Lanes& lanes, double sign) const {
    for (auto [row, part] : lanes.load) taken[row] += sign * part / space_.rows()[row].gb_per_s;
  }

  Packed packed(const Set& set) const {
    Packed found;
    for (const Lanes& lanes : set)
      found.channels.insert(found.channels.end(), lanes.channels.begin(), lanes.channels.end());
    found.gb_per_s = rounded_down(speed(set));
    return found;
  }

  // Also for each multiple of the number, where each channel counts several times.
  void keep(std::map<int, Set>& sets, int count, const Set& set) const {
    if (set.empty()) return;
    for (int times = 1; times * count <= task_.most_channels; ++times) {
      Set repeated;
      for (const Lanes& lanes : set) repeated.insert(repeated.end(), times, lanes);
      if (total(times * count, sets) < times * count * speed(repeated) * (1 - SLACK))
        sets[times * count] = repeated;
    }
  }

  // What a load on each row costs, so that the greatest loads count most: exponential in its share
  // of the goal's. With `whole_` it is the cost of one whole channel more, which a row of little
  // capacity does not bear; else of a little more.
  std::vector<double> weights(const std::vector<double>& taken, double aim) const {
    std::vector<double> found(taken.size());
    for (std::size_t row = 0; row < taken.size(); ++row) {
      const double scale = LOAD_STEEPNESS * aim, part = 1 / space_.rows()[row].gb_per_s;
      found[row] = std::exp(bounded(scale * taken[row] - LOAD_STEEPNESS)) *
                   (whole_ ? std::expm1(bounded(scale * part)) : scale * part);
    }
    return found;
  }

  static double bounded(double exponent) { return std::min(exponent, MOST_EXPONENT); }

  double aim(int count) const { return std::min(task_.top_gb_per_s, aim_total_ / count); }

  // The whole parts of the fractional solution, then of its channels what weighs least.
  Set start(int count) const {
    Set set;
    const int wanted = count / lightest_.at_once();
    for (auto [number, amount] : fractions_.used) {
      const int whole =
          static_cast<int>(amount * lightest_.at_once() * wanted / fractions_.gb_per_s + SAME);
      set.insert(set.end(), whole, fractions_.known[number]);
    }
    if (static_cast<int>(set.size()) > wanted) set.resize(wanted);
    auto taken = load(set);
    while (static_cast<int>(set.size()) < wanted && !fractions_.used.empty()) {
      const auto price = weights(taken, aim(count));
      const auto by_weight = [&](const auto& a, const auto& b) {
        return lightest_.weight(fractions_.known[a.first], price) <
               lightest_.weight(fractions_.known[b.first], price);
      };
      const auto& used = fractions_.used;
      set.push_back(fractions_.known[std::min_element(used.begin(), used.end(), by_weight)->first]);
      put(taken, set.back(), 1);
    }
    return static_cast<int>(set.size()) == wanted ? set : Set{};
  }

  bool reached(const std::map<int, Set>& sets) const {
    auto wanted = [&](int count) { return task_.wanted.contains(count); };
    const bool any = std::none_of(sets.begin(), sets.end(),
                                  [&](const auto& entry) { return wanted(entry.first); });
    return std::any_of(sets.begin(), sets.end(), [&](const auto& entry) {
      return (any || wanted(entry.first)) && total(entry.first, sets) >= task_.goal * (1 - SAME);
    });
  }

  // The most promising numbers first; then again for less than the goal, which whole channels may
  // not reach.
  void improve(std::map<int, Set>& sets) {
    for (double nearness : {0.0, HALFWAY, 0.9}) {
      const double reached_so_far = most(sets);
      whole_ = nearness == HALFWAY;
      aim_total_ = task_.goal - nearness * (task_.goal - reached_so_far);
      for (int count : by_promise(sets)) {
        if (reached(sets) || effort_ > EFFORT) return;
        keep(sets, count, improved(count, nearness == HALFWAY ? from_nothing(count) : sets[count]));
      }
    }
  }

  // What came of that, best first, with the channels of all sets at hand.
  void exchange(std::map<int, Set>& sets) const {
    std::vector<Lanes> pool = fractions_.known;
    for (int count : by_promise(sets))
      pool.insert(pool.end(), sets[count].begin(), sets[count].end());
    ChannelExchange exchange(space_, pool, EXCHANGE_EFFORT);
    for (bool again : {false, true})
      for (int count : by_promise(sets)) {
        if (reached(sets) || exchange.spent()) return;
        keep(sets, count, exchange.improved(again ? start(count) : sets[count]));
      }
  }

  // The lightest channels one after the other.
  Set from_nothing(int count) {
    Set set;
    std::vector<double> taken(space_.rows().size(), 0.0);
    for (int left = count / lightest_.at_once(); left > 0; --left) {
      Lanes lanes = light(weights(taken, aim(count)));
      if (lanes.channels.empty()) return {};
      put(taken, lanes, 1);
      set.push_back(std::move(lanes));
    }
    return set;
  }

  double most(const std::map<int, Set>& sets) const {
    double best = 0;
    for (const auto& [count, set] : sets) best = std::max(best, total(count, sets));
    return best;
  }

  std::vector<int> by_promise(const std::map<int, Set>& sets) const {
    std::vector<int> counts;
    std::map<int, std::pair<bool, double>> promise;
    for (const auto& [count, set] : sets) {
      counts.push_back(count);
      promise[count] = {task_.wanted.contains(count), total(count, sets)};
    }
    std::stable_sort(counts.begin(), counts.end(),
                     [&](int a, int b) { return promise[a] > promise[b]; });
    return counts;
  }

  // Takes each channel out and puts the one back that weighs least then, several times over.
  Set improved(int count, Set set) {
    if (set.empty()) return set;
    Set best = set;
    auto taken = load(set);
    for (int pass = 0; pass < PASSES; ++pass) {
      bool changed = false;
      for (Lanes& lanes : set) {
        if (effort_ > EFFORT) return best;
        put(taken, lanes, -1);
        Lanes other = light(weights(taken, aim(count)));
        const bool better = !other.channels.empty() &&
                            cost(taken, other, count) < cost(taken, lanes, count) * (1 - 1e-9);
        if (better) lanes = std::move(other), changed = true;
        put(taken, lanes, 1);
      }
      if (speed(set) > speed(best)) best = set;
      if (!changed || count * speed(best) >= task_.goal * (1 - SAME)) break;
    }
    return best;
  }

  double cost(const std::vector<double>& taken, const Lanes& lanes, int count) const {
    const double scale = LOAD_STEEPNESS * aim(count);
    double total = 0;
    for (auto [row, part] : lanes.load)
      total += std::exp(bounded(scale * taken[row] - LOAD_STEEPNESS)) *
               std::expm1(bounded(scale * part / space_.rows()[row].gb_per_s));
    return total;
  }

  Lanes light(const std::vector<double>& weights) {
    const double n = space_.gpus();
    const double tours =
        space_.shape() == Shape::through && lightest_.at_once() == 1 ? space_.rail_count() : 1;
    effort_ += tours * (n <= QUICK_STOPS ? std::exp2(n) * n * n / 3 : 10 * n * n * n);
    return n <= QUICK_STOPS ? lightest_.lightest(weights) : lightest_.light(weights);
  }

  const ChannelSpace& space_;
  const LightestChannel& lightest_;
  const FractionalPacking& fractions_;
  PackingTask task_;
  double aim_total_ = task_.goal;
  bool whole_ = false;
  double effort_ = 0;
};

}  // namespace

std::map<int, Packed> pack_channels(const ChannelSpace& space, const LightestChannel& lightest,
                                    const FractionalPacking& fractions, const PackingTask& task,
                                    const std::vector<std::vector<CandidateChannel>>& others) {
  return Packer(space, lightest, fractions, task).run(others);
}

}  // namespace railgauge::topo
