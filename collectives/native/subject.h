// SPDX-License-Identifier: Apache-2.0
// What all ranks must agree on, packed so that it is sent with the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collectives/native/algorithm.h"
#include "collectives/native/operation.h"
#include "transports/native/shm/shared_segment.h"

namespace railgauge {

// `what` holds sequence number, root, algorithm, dtype, operator and collective; `count` is
// Operation::count. `history` covers the operations before: ranks that receive nothing from each
// other in one (a root that only sends, two that take each other for the root) detect a mismatch in
// a later one.
using Subject = shm::Subject;

Subject subject_of(const Operation& operation, Algorithm algorithm, std::uint32_t sequence,
                   std::uint64_t history = 0);
// The history after an operation of this subject with that history.
std::uint64_t history_after(std::uint64_t history, const Subject& subject);
// The operation, without buffers. Nothing if this is not a subject.
std::optional<Operation> operation_of(const Subject& subject);
// The tag of each message of an operation, by which messages of another one are detected.
std::uint32_t tag_of(const Subject& subject);
// "all_reduce #41 of 1024 float, sum"
std::string describe(const Subject& subject);
// How two ranks disagree: "rank 1 is in all_reduce #41 of 8 float, sum, this rank in ..."
std::string describe_mismatch(int rank, const Subject& theirs, const Subject& own);

}  // namespace railgauge
