// SPDX-License-Identifier: Apache-2.0
#include "topo/native/fractional_packing.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "topo/native/packing_lp.h"

namespace railgauge::topo {

static constexpr int MOST_ROUNDS = 600, LEAST_ROUNDS = 6, ROUNDS_OF_MANY = 100'000;
static constexpr int FIRST_CHANNELS = 24, MOST_SLOW_SEARCHES = 40;
static constexpr int PATIENCE = 120;  // rounds; after these a thousandth is close enough
static constexpr double PRICE_STEEPNESS = 8, CLOSE = 1e-6, CLOSE_ENOUGH = 1e-3;

namespace {

double weighted_capacity(const ChannelSpace& space, const std::vector<double>& weights) {
  double total = 0;
  for (std::size_t row = 0; row < weights.size(); ++row)
    total += weights[row] * space.rows()[row].gb_per_s;
  return total;
}

class Generation {
 public:
  Generation(const ChannelSpace& space, const LightestChannel& lightest, std::vector<Lanes> known,
             bool prove)
      : space_(space), lightest_(lightest), prove_(prove), lp_(space.rows()) {
    found_.bound = HUGE_VAL;
    for (Lanes& lanes : known) add(std::move(lanes));
    begin();
  }

  FractionalPacking run() {
    for (int round = 0; round < rounds(); ++round) {
      if (round == PATIENCE) close_ = CLOSE_ENOUGH;
      lp_.solve();
      const auto weights = lp_.weights();
      if (!next(weights) || found_.bound <= lp_.value() * (1 + close_)) break;
    }
    lp_.solve();
    found_.used = lp_.used();
    found_.gb_per_s = lp_.value();
    if (prove_ && space_.gpus() > MOST_EXACT_STOPS) prove_otherwise();
    return std::move(found_);
  }

 private:
  // Many GPUs are only worth a few rounds: each is slow, and the first channels are good ones. What
  // proves nothing need not be the optimum.
  int rounds() const {
    const int n = space_.gpus();
    if (!prove_ && !quick() && n <= MOST_EXACT_STOPS) return 2 * PATIENCE;
    return n <= MOST_EXACT_STOPS ? MOST_ROUNDS : std::max(LEAST_ROUNDS, ROUNDS_OF_MANY / (n * n));
  }

  // Weights that prove a bound where the prices alone do not: those, all rows of one speed, and
  // rows alone.
  void prove_otherwise() {
    const auto prices = lp_.weights();
    prove(prices, lightest_.least_weight(prices));
    std::set<double> speeds;
    for (const Row& row : space_.rows()) speeds.insert(row.gb_per_s);
    for (double speed : speeds) {
      std::vector<double> alike;
      for (const Row& row : space_.rows()) alike.push_back(row.gb_per_s == speed ? 1 / speed : 0);
      prove(alike, lightest_.least_weight(alike));
    }
    int left = std::max(LEAST_ROUNDS, ROUNDS_OF_MANY / (space_.gpus() * space_.gpus()));
    for (std::size_t row = 0; row < prices.size() && left > 0; ++row) {
      if (prices[row] <= 0) continue;
      std::vector<double> alone(prices.size(), 0.0);
      alone[row] = 1;
      prove(alone, lightest_.least_weight(alone));
      --left;
    }
  }

  // A few channels that keep out of each other's way, so that the first prices make sense.
  void begin() {
    std::vector<double> taken(space_.rows().size(), 0.0), weights(taken.size());
    for (int i = 0; i < std::min(FIRST_CHANNELS, rounds()); ++i) {
      const double most = std::max(1e-9, *std::max_element(taken.begin(), taken.end()));
      for (std::size_t row = 0; row < taken.size(); ++row)
        weights[row] = std::exp(PRICE_STEEPNESS * taken[row] / most) / space_.rows()[row].gb_per_s;
      Lanes lanes = quick() ? lightest_.lightest(weights) : lightest_.light(weights);
      if (lanes.channels.empty()) return;
      for (auto [row, part] : lanes.load) taken[row] += part / space_.rows()[row].gb_per_s;
      add(std::move(lanes));
    }
  }

  // Adds a channel that the prices have too light; false when there is none, or none is found.
  bool next(const std::vector<double>& weights) {
    Lanes lanes = quick() ? lightest_.lightest(weights) : lightest_.light(weights);
    bool exact = quick();
    auto weight = [&] {
      return lanes.channels.empty() ? HUGE_VAL : lightest_.weight(lanes, weights);
    };
    const bool none = weight() > 1 - close_;
    if (!exact && none && prove_ && space_.gpus() <= MOST_EXACT_STOPS &&
        slow_searches_++ < MOST_SLOW_SEARCHES) {
      lanes = lightest_.lightest(weights);
      exact = true;
    }
    if (exact && prove_) prove(weights, weight());
    if (weight() > 1 - close_) return false;
    add(std::move(lanes));
    return true;
  }

  void prove(const std::vector<double>& weights, double least) {
    if (least <= 0 || least == HUGE_VAL) return;
    const double bound = weighted_capacity(space_, weights) / least;
    if (bound >= found_.bound) return;
    found_.bound = bound;
    found_.weights = weights;
    for (double& weight : found_.weights) weight /= least;
  }

  void add(Lanes lanes) {
    lp_.add(lanes.load, lightest_.at_once());
    found_.known.push_back(std::move(lanes));
  }

  bool quick() const { return space_.gpus() <= QUICK_STOPS; }

  const ChannelSpace& space_;
  const LightestChannel& lightest_;
  bool prove_;
  PackingLp lp_;
  FractionalPacking found_;
  int slow_searches_ = 0;
  double close_ = CLOSE;
};

}  // namespace

FractionalPacking fractional_packing(const ChannelSpace& space, const LightestChannel& lightest,
                                     std::vector<Lanes> known, bool prove) {
  return Generation(space, lightest, std::move(known), prove).run();
}

}  // namespace railgauge::topo
