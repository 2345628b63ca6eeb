// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/piece_exchange.h"

#include <chrono>
#include <sstream>
#include <utility>

namespace railgauge::gpu {

namespace {

constexpr int kNapMs = 1;  // between two looks at what else may end the wait
// 2 TiB in the smallest pages that GPUs have for them, 2 MiB.
constexpr std::uint32_t kMostPieces = 1 << 20;
constexpr const char* kNoDescriptor =
    ": its process could not export it, or this one has too many open files (ulimit -n)";
constexpr const char* kWhatDescriptorsTake =
    " (containers need one network namespace; NCCL_CUMEM_ENABLE=0 uses CUDA IPC, "
    "NCCL_P2P_DISABLE=1 goes through host memory)";

}  // namespace

PieceExchange::PieceExchange(const FdSocket& socket, int rank,
                             std::vector<std::optional<PieceOwner>> owners, double timeout_s,
                             std::function<void()> look_up)
    : socket_(socket),
      rank_(rank),
      owners_(std::move(owners)),
      timeout_s_(timeout_s),
      look_up_(std::move(look_up)),
      arriving_(owners_.size()) {
  for (int one = 0; one < ranks(); ++one) {
    if (!owners_[one]) continue;
    if (owners_[one]->pieces > kMostPieces)
      throw Error(ErrorCode::kMismatch, owners_[one]->name + " has too many pieces of memory");
    arriving_[one].missing = owners_[one]->pieces;
    arriving_[one].pieces.resize(owners_[one]->pieces);
  }
}

std::vector<std::vector<cuda::MappedPiece>> PieceExchange::run(
    const std::vector<cuda::MappedPiece>& own) {
  for (std::uint32_t number = 0; number < own.size(); ++number) send(number, own[number]);
  for (int one = 0; one < ranks(); ++one) {
    while (arriving_[one].missing) wait_for(one);
  }
  if (problem_) throw Error(*problem_);
  std::vector<std::vector<cuda::MappedPiece>> all(owners_.size());
  for (int one = 0; one < ranks(); ++one) {
    for (auto& piece : arriving_[one].pieces) all[one].push_back(std::move(*piece));
  }
  return all;
}

template <class Step>
void PieceExchange::note(const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kSystem) throw;
    if (!problem_) problem_.emplace(error);
  }
}

// Without a descriptor where there can be none, so that the others do not wait for it.
void PieceExchange::send(std::uint32_t number, const cuda::MappedPiece& piece) {
  std::optional<Fd> fd;
  note([&] { fd.emplace(piece.memory.exported()); });
  if (!fd) fd.emplace(-1);
  for (int one = 0; one < ranks(); ++one) {
    if (!owners_[one]) continue;
    const FdSocket::Label label{static_cast<std::uint32_t>(rank_), number, piece.bytes};
    try {
      while (!socket_.send(owners_[one]->address, label, *fd)) wait_for(one);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kSystem) throw;
      arriving_[one].missing = 0;  // it has ended, or is out of reach
      note([&] {
        throw Error(ErrorCode::kSystem, "lending memory to " + owners_[one]->name + ": " +
                                            error.what() + kWhatDescriptorsTake);
      });
    }
    moved_ = Clock::now();
  }
}

void PieceExchange::wait_for(int rank) {
  socket_.wait(kNapMs);
  while (const auto one = socket_.receive()) take(*one);
  look_up_();
  if (Clock::now() - moved_ > std::chrono::duration<double>(timeout_s_)) {
    std::ostringstream late;
    late << owners_[rank]->name << " did not exchange memory within " << timeout_s_
         << " s (all ranks of a host must run as one user)";
    throw Error(ErrorCode::kTimeout, late.str());
  }
}

void PieceExchange::take(const FdSocket::Received& one) {
  const auto [from, number, bytes] = one.label;
  if (from >= arriving_.size() || !arriving_[from].missing) return;
  Arriving& arriving = arriving_[from];
  if (number >= arriving.pieces.size() || arriving.pieces[number]) return;
  --arriving.missing;
  moved_ = Clock::now();
  note([&] {
    const std::string what = "mapping memory of " + owners_[from]->name;
    if (!one.fd.open()) throw Error(ErrorCode::kSystem, what + kNoDescriptor);
    arriving.pieces[number].emplace(
        cuda::MappedPiece{cuda::Shareable::imported(owners_[from]->kind, one.fd, what), bytes});
  });
}

}  // namespace railgauge::gpu
