// SPDX-License-Identifier: Apache-2.0
#include "topo/native/packing_lp.h"

#include <algorithm>
#include <cmath>

namespace railgauge::topo {

static constexpr double PERTURBATION = 1e-6, TOLERANCE = 1e-9;
static constexpr int MOST_PIVOTS = 5000, PIVOTS_UNTIL_FRESH = 200;

PackingLp::PackingLp(const std::vector<Row>& rows)
    : rows_(static_cast<int>(rows.size())), price_(rows.size(), 0.0) {
  for (int row = 0; row < rows_; ++row) {
    capacity_.push_back(rows[row].gb_per_s);
    room_.push_back(1 + PERTURBATION * (row + 1) / rows_);
    basic_.push_back(-1 - row);
  }
  amount_ = room_;
  inverse_.assign(static_cast<std::size_t>(rows_) * rows_, 0.0);
  for (int row = 0; row < rows_; ++row) inverse_[row * rows_ + row] = 1;
}

void PackingLp::add(const Shares& shares, double gain) {
  Column column{shares, gain};
  for (auto& [row, part] : column.shares) part /= capacity_[row];
  columns_.push_back(std::move(column));
}

double PackingLp::reduced(int column) const {
  if (column < 0) return -price_[-1 - column];
  double left = columns_[column].gain;
  for (auto [row, part] : columns_[column].shares) left -= price_[row] * part;
  return left;
}

void PackingLp::solve() {
  const int columns = static_cast<int>(columns_.size());
  for (int count = 0; count < MOST_PIVOTS; ++count) {
    double most = TOLERANCE;
    int entering = columns;
    for (int column = -rows_; column < columns; ++column) {
      const double gain = reduced(column);
      if (gain > most) most = gain, entering = column;
    }
    if (entering == columns || !pivot(entering)) return;
    if (++pivots_ % PIVOTS_UNTIL_FRESH == 0) start_over();
  }
}

bool PackingLp::pivot(int entering) {
  std::vector<double> change(rows_, 0.0);
  for (int i = 0; i < rows_; ++i) {
    const double* line = &inverse_[static_cast<std::size_t>(i) * rows_];
    if (entering < 0)
      change[i] = line[-1 - entering];
    else
      for (auto [row, part] : columns_[entering].shares) change[i] += line[row] * part;
  }
  int leaving = -1;
  double step = HUGE_VAL;
  for (int i = 0; i < rows_; ++i) {
    if (change[i] <= TOLERANCE) continue;
    const double ratio = std::max(0.0, amount_[i]) / change[i];
    if (ratio < step - TOLERANCE || (ratio < step + TOLERANCE && change[i] > change[leaving])) {
      step = std::min(step, ratio);
      leaving = i;
    }
  }
  if (leaving < 0) return false;
  const double gain = reduced(entering) / change[leaving];
  double* pivoted = &inverse_[static_cast<std::size_t>(leaving) * rows_];
  for (int row = 0; row < rows_; ++row) price_[row] += gain * pivoted[row];
  for (int row = 0; row < rows_; ++row) pivoted[row] /= change[leaving];
  amount_[leaving] /= change[leaving];
  for (int i = 0; i < rows_; ++i) {
    if (i == leaving || change[i] == 0) continue;
    double* line = &inverse_[static_cast<std::size_t>(i) * rows_];
    for (int row = 0; row < rows_; ++row) line[row] -= change[i] * pivoted[row];
    amount_[i] -= change[i] * amount_[leaving];
  }
  basic_[leaving] = entering;
  return true;
}

// The inverse from its basis again, without the errors of many pivots (Gauss and Jordan).
void PackingLp::start_over() {
  std::vector<double> basis(static_cast<std::size_t>(rows_) * rows_, 0.0);
  std::fill(inverse_.begin(), inverse_.end(), 0.0);
  for (int i = 0; i < rows_; ++i) {
    inverse_[i * rows_ + i] = 1;
    if (basic_[i] < 0)
      basis[(-1 - basic_[i]) * rows_ + i] = 1;
    else
      for (auto [row, part] : columns_[basic_[i]].shares) basis[row * rows_ + i] = part;
  }
  for (int at = 0; at < rows_; ++at) {
    int best = at;
    for (int i = at + 1; i < rows_; ++i)
      if (std::abs(basis[i * rows_ + at]) > std::abs(basis[best * rows_ + at])) best = i;
    for (int j = 0; best != at && j < rows_; ++j) {
      std::swap(basis[at * rows_ + j], basis[best * rows_ + j]);
      std::swap(inverse_[at * rows_ + j], inverse_[best * rows_ + j]);
    }
    const double scale = basis[at * rows_ + at];
    for (int j = 0; j < rows_; ++j)
      basis[at * rows_ + j] /= scale, inverse_[at * rows_ + j] /= scale;
    for (int i = 0; i < rows_; ++i) {
      const double factor = basis[i * rows_ + at];
      if (i == at || factor == 0) continue;
      for (int j = 0; j < rows_; ++j) {
        basis[i * rows_ + j] -= factor * basis[at * rows_ + j];
        inverse_[i * rows_ + j] -= factor * inverse_[at * rows_ + j];
      }
    }
  }
  for (int i = 0; i < rows_; ++i) {
    amount_[i] = 0;
    for (int row = 0; row < rows_; ++row) amount_[i] += inverse_[i * rows_ + row] * room_[row];
  }
  std::fill(price_.begin(), price_.end(), 0.0);
  for (int i = 0; i < rows_; ++i) {
    if (basic_[i] < 0) continue;
    for (int row = 0; row < rows_; ++row)
      price_[row] += columns_[basic_[i]].gain * inverse_[i * rows_ + row];
  }
}

double PackingLp::value() const {
  double total = 0;
  for (auto [column, amount] : used()) total += columns_[column].gain * amount;
  return total;
}

std::vector<double> PackingLp::weights() const {
  std::vector<double> found;
  for (int row = 0; row < rows_; ++row)
    found.push_back(std::max(0.0, price_[row]) / capacity_[row]);
  return found;
}

std::vector<std::pair<int, double>> PackingLp::used() const {
  std::vector<std::pair<int, double>> found;
  for (int i = 0; i < rows_; ++i)
    if (basic_[i] >= 0 && amount_[i] > TOLERANCE) found.push_back({basic_[i], amount_[i]});
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace railgauge::topo
