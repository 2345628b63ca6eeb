// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/subject.h"

namespace railgauge {

namespace {

// The multiplier of splitmix64, so that neighbours differ in all high bits.
constexpr std::uint64_t kOdd = 0xbf58476d1ce4e5b9;

static_assert(kHostDtypes <= 16 && kHostRedops <= 16 && kOperations <= 16 && kAlgorithms < 16);

std::optional<Algorithm> algorithm_of(const Subject& subject) {
  const int number = static_cast<int>(subject.what >> 12 & 0xf) - 1;
  if (number >= kAlgorithms) return std::nullopt;
  return static_cast<Algorithm>(number);
}

// The part that users control.
bool called_alike(const Subject& a, const Subject& b) {
  constexpr std::uint64_t kAlgorithmBits = std::uint64_t{0xf} << 12;
  return ((a.what ^ b.what) & ~kAlgorithmBits) == 0 && a.count == b.count;
}

std::string by_algorithm(const Subject& subject) {
  const auto algorithm = algorithm_of(subject);
  return std::string(" by ") + (algorithm ? algorithm_name(*algorithm) : "something else");
}

}  // namespace

// what: | sequence, 32 bits | root, 16 | algorithm, 4 | dtype, 4 | operator, 4 | collective, 4 |
Subject subject_of(const Operation& operation, Algorithm algorithm, std::uint32_t sequence,
                   std::uint64_t history) {
  const std::uint64_t root = operation.has_root() ? static_cast<std::uint16_t>(operation.root) : 0;
  const std::uint64_t op = operation.reduces() ? static_cast<std::uint64_t>(operation.op) : 0;
  const auto by = static_cast<std::uint64_t>(static_cast<int>(algorithm) + 1);
  return {std::uint64_t{sequence} << 32 | root << 16 | by << 12 |
              static_cast<std::uint64_t>(operation.dtype) << 8 | op << 4 |
              static_cast<std::uint64_t>(operation.collective),
          operation.count, history >> 48};
}

std::uint64_t history_after(std::uint64_t history, const Subject& subject) {
  const std::uint64_t mixed = (history ^ history >> 29 ^ subject.what) * kOdd;
  return (mixed ^ mixed >> 32 ^ subject.count) * kOdd;
}

std::optional<Operation> operation_of(const Subject& subject) {
  auto collective = subject.what & 0xf, op = subject.what >> 4 & 0xf;
  auto dtype = subject.what >> 8 & 0xf, root = subject.what >> 16 & 0xffff;
  if (collective >= kOperations || op >= kHostRedops || dtype >= kHostDtypes) return std::nullopt;
  return Operation{static_cast<Collective>(collective),
                   nullptr,
                   nullptr,
                   subject.count,
                   static_cast<Dtype>(dtype),
                   static_cast<Redop>(op),
                   static_cast<int>(root)};
}

std::uint32_t tag_of(const Subject& subject) {
  const std::uint64_t second = std::uint64_t{subject.history} << 48 | subject.count;
  const std::uint64_t mixed = (subject.what ^ second * kOdd) * kOdd;
  return static_cast<std::uint32_t>(mixed >> 32);
}

std::string describe(const Subject& subject) {
  const auto operation = operation_of(subject);
  if (!operation) return "something else";
  std::string text = collective_name(operation->collective);
  text += " #" + std::to_string(subject.what >> 32);
  if (operation->collective == Collective::kBarrier) return text;
  text += " of ";
  if (operation->collective != Collective::kAllToAllV) text += std::to_string(subject.count) + " ";
  text += dtype_name(operation->dtype);
  if (operation->reduces()) text += std::string(", ") + redop_name(operation->op);
  if (operation->has_root()) text += ", root " + std::to_string(operation->root);
  return text;
}

std::string describe_mismatch(int rank, const Subject& theirs, const Subject& own) {
  const std::string who = "rank " + std::to_string(rank) + " ";
  if (!called_alike(theirs, own)) {
    return who + "is in " + describe(theirs) + ", this rank in " + describe(own);
  }
  if (theirs.what != own.what) {
    return who + "runs " + describe(own) + by_algorithm(theirs) + ", this rank" +
           by_algorithm(own) + ": do settings such as NCCL_ALGO differ?";
  }
  return who + "and this rank are in " + describe(own) +
         ", and operations before it differ: in count, type, operator, root or algorithm";
}

}  // namespace railgauge
