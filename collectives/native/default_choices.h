// SPDX-License-Identifier: Apache-2.0
// Which algorithm runs a collective, by size, where nobody chose: for programs without the cost
// model (collectives/cost), by the sizes that it gives for 2 to 8 ranks with a core each.
#pragma once

#include <vector>

#include "collectives/native/connection_plan.h"
#include "collectives/native/host_engine.h"

namespace railgauge {

// What the choices need, with the rings given, or one over all ranks. Throws Error(kInvalid) if a
// ring does not name each rank once.
ConnectionPlan default_plan(std::vector<std::vector<int>> hosts,
                            std::vector<std::vector<int>> rings);
std::vector<AlgorithmChoice> default_choices(Collective collective, const ConnectionPlan& plan);

}  // namespace railgauge
