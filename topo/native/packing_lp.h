// SPDX-License-Identifier: Apache-2.0
// The most that columns carry together, in any fractions, when no row takes more than its capacity:
// a linear programme, solved by the simplex method as columns come. Its dual prices the rows: their
// weights, by which no column known weighs less than it carries.
#pragma once

#include <utility>
#include <vector>

#include "topo/native/channel_space.h"

namespace railgauge::topo {

class PackingLp {
 public:
  explicit PackingLp(const std::vector<Row>& rows);

  void add(const Shares& shares,
           double gain);  // a column that carries `gain` GB/s for each GB/s of its load
  void solve();
  double value() const;
  std::vector<double> weights() const;               // by row, none below 0
  std::vector<std::pair<int, double>> used() const;  // columns by number, and how much of each

 private:
  struct Column {
    Shares shares;  // of the row's capacity
    double gain;
  };

  double reduced(int column) const;
  bool pivot(int entering);
  void start_over();

  int rows_;
  std::vector<double> capacity_;
  std::vector<double>
      room_;  // 1, a little more for each row so that no two are equal: no pivot is without gain
  std::vector<Column> columns_;
  std::vector<int> basic_;       // by row of the basis: a column, or -1 - row for that row's slack
  std::vector<double> inverse_;  // of the basis
  std::vector<double> amount_;   // of each basic column
  std::vector<double> price_;
  int pivots_ = 0;
};

}  // namespace railgauge::topo
