// SPDX-License-Identifier: Apache-2.0
// What all ranks have to agree on, packed so that it travels with the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collectives/native/algorithm.h"
#include "collectives/native/operation.h"
#include "transports/native/shm/board.h"

namespace railgauge {

// `what` holds sequence number, root, algorithm, dtype, operator and collective; `count` is
// Operation::count. `history` is of the operations before: ranks that read nothing of each other in
// one (a root that only gives, two that take each other for the root) find out by a later one.
using Subject = shm::Subject;

Subject subject_of(const Operation& operation, Algorithm algorithm, std::uint32_t sequence,
                   std::uint64_t history = 0);
// The history of what comes after an operation of this subject and that history.
std::uint64_t history_after(std::uint64_t history, const Subject& subject);
// What it says of the operation; no buffers. Nothing when it is no subject.
std::optional<Operation> operation_of(const Subject& subject);
// What travels with each message of an operation, so that one of another is known by it.
std::uint32_t tag_of(const Subject& subject);
// "all_reduce #41 of 1024 float, sum"
std::string describe(const Subject& subject);
// How two ranks disagree: "rank 1 is in all_reduce #41 of 8 float, sum, this rank in ..."
std::string describe_mismatch(int rank, const Subject& theirs, const Subject& own);

}  // namespace railgauge
