// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/peer_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "collectives/native/gpu/piece_exchange.h"
#include "transports/native/cuda/pool.h"

namespace railgauge::gpu {

namespace {

constexpr cuda::Result kPeerAccessAlreadyEnabled = 704;
constexpr const char* kWhatIpcTakes =
    " (CUDA IPC: containers need one IPC and pid namespace; NCCL_P2P_DISABLE=1 goes through host "
    "memory)";
constexpr const char* kWhatToExport =
    ": this memory of cuMemCreate cannot be exported: its requestedHandleTypes lacks "
    "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR (PyTorch: update it, or leave out "
    "expandable_segments)";
constexpr const char* kWhatPoolsTake =
    ": the pool of this memory (cudaMallocAsync) cannot be exported: it was made without "
    "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR";
constexpr const char* kWhatOtherHostsTake =
    ": GPUs of other hosts (P2P/MNNVL) cannot map this memory: it takes memory of cuMemCreate with "
    "CU_MEM_HANDLE_TYPE_FABRIC in its requestedHandleTypes (`allocate` makes it; "
    "NCCL_MNNVL_ENABLE=0 uses the network)";

bool all_exported(const std::vector<cuda::MappedPiece>& pieces, int as) {
  return std::ranges::all_of(
      pieces, [&](const cuda::MappedPiece& piece) { return piece.memory.can_be_exported(as); });
}

}  // namespace

PeerMemory::PeerMemory(int device, int rank, std::vector<Via> via, double timeout_s,
                       std::function<void()> look_up)
    : gpu_(device),
      rank_(rank),
      via_(std::move(via)),
      timeout_s_(timeout_s),
      look_up_(std::move(look_up)) {}

std::vector<Lent> PeerMemory::lend(cuda::Pointer pointer, std::size_t bytes,
                                   const std::string& what) {
  const cuda::Current current(gpu_.context());
  cuda::Backing backing = cuda::backing_of(pointer, bytes, what);
  Lent lent = described(backing.pieces);
  lent.at = pointer - backing.begin;
  lent.device = backing.begin;
  lent.bytes = backing.bytes;
  const bool of_pool = lent.kind == cuda::ShareableKind::kPool;
  answers_.reset();
  if (has(Via::kMnnvl) &&
      (backing.pieces.empty() || !all_exported(backing.pieces, cuda::kAsFabricHandle))) {
    throw Error(ErrorCode::kSystem, what + kWhatOtherHostsTake);
  }
  if (has(Via::kIpc)) {
    if (backing.pieces.empty()) {
      cuda_.check(cuda_.ipc_export(&lent.handle, backing.begin), what + kWhatIpcTakes);
    } else if (!all_exported(backing.pieces, cuda::kAsDescriptor)) {
      throw Error(ErrorCode::kSystem, what + (of_pool ? kWhatPoolsTake : kWhatToExport));
    }
    if (of_pool) lent.handle = cuda::exported_pointer(backing.begin, what);
    lent.answers = answers_.emplace().address();
  }
  std::vector<Lent> all(via_.size(), lent);
  if (has(Via::kMnnvl)) {
    for (const cuda::MappedPiece& piece : backing.pieces)
      lent.fabric.push_back({piece.memory.fabric_handle(), piece.bytes});
    for (std::size_t rank = 0; rank < via_.size(); ++rank) {
      if (via_[rank] == Via::kMnnvl) all[rank].fabric = lent.fabric;
    }
  }
  lending_ = std::move(backing.pieces);
  return all;
}

std::vector<Reached> PeerMemory::open(const std::vector<Lent>& lent) {
  const cuda::Current current(gpu_.context());
  std::vector<std::vector<cuda::MappedPiece>> pieces =
      exchanged(lent, [](Via via) { return via == Via::kIpc; });
  std::vector<Reached> reached(via_.size());
  for (int rank = 0; rank < static_cast<int>(via_.size()); ++rank) {
    if (!in_gpu(via_[rank])) continue;
    const std::string whom = named(rank, lent[rank]);
    if (via_[rank] == Via::kMnnvl) pieces[rank] = of_fabric(lent[rank], whom);
    reached[rank] = via_[rank] == Via::kDirect
                        ? allowed(lent[rank], whom)
                        : imported(lent[rank], std::move(pieces[rank]), whom);
    reached[rank].begin += lent[rank].at;
  }
  return reached;
}

Lent PeerMemory::offer(std::vector<cuda::MappedPiece> pieces) {
  Lent lent = described(pieces);
  lent.answers = answers_.emplace().address();
  lending_ = std::move(pieces);
  return lent;
}

std::vector<std::vector<cuda::MappedPiece>> PeerMemory::take(const std::vector<Lent>& offered) {
  const cuda::Current current(gpu_.context());
  return exchanged(offered, in_gpu);
}

Lent PeerMemory::described(const std::vector<cuda::MappedPiece>& pieces) const {
  Lent lent{};
  lent.process = getpid();
  lent.pieces = static_cast<std::uint32_t>(pieces.size());
  if (lent.pieces) lent.kind = pieces[0].memory.kind();
  cuda_.check(cuda_.device_bus_id(lent.bus_id, sizeof lent.bus_id, gpu_.device()),
              "asking a GPU for its bus id");
  return lent;
}

void PeerMemory::withdraw() {
  lending_.clear();
  answers_.reset();
}

bool PeerMemory::has(Via via) const { return std::ranges::count(via_, via) > 0; }

std::string PeerMemory::named(int rank, const Lent& lent) const {
  return "the GPU of rank " + std::to_string(rank) + " (" + lent.bus_id + ")";
}

std::vector<std::vector<cuda::MappedPiece>> PeerMemory::exchanged(const std::vector<Lent>& lent,
                                                                  bool (*comes_from)(Via)) {
  if (lent.size() != via_.size())
    throw Error(ErrorCode::kInvalid, "every rank's description is needed");
  std::vector<cuda::MappedPiece> lending = std::move(lending_);
  const std::optional<FdSocket> answers = std::move(answers_);
  withdraw();
  if (!answers) return std::vector<std::vector<cuda::MappedPiece>>(via_.size());
  std::vector<std::optional<PieceOwner>> owners(via_.size());
  for (int rank = 0; rank < static_cast<int>(via_.size()); ++rank) {
    if (!comes_from(via_[rank])) continue;
    owners[rank] =
        PieceOwner{named(rank, lent[rank]), lent[rank].answers, lent[rank].kind, lent[rank].pieces};
  }
  std::vector<std::vector<cuda::MappedPiece>> all =
      PieceExchange(*answers, rank_, std::move(owners), timeout_s_, look_up_).run(lending);
  all[rank_] = std::move(lending);
  return all;
}

std::vector<cuda::MappedPiece> PeerMemory::of_fabric(const Lent& lent,
                                                     const std::string& whom) const {
  if (lent.fabric.empty()) throw Error(ErrorCode::kMismatch, whom + " lent no memory");
  std::vector<cuda::MappedPiece> pieces;
  for (const FabricPiece& piece : lent.fabric)
    pieces.push_back(
        {cuda::Shareable::imported(piece.handle, "mapping memory of " + whom), piece.bytes});
  return pieces;
}

Reached PeerMemory::imported(const Lent& lent, std::vector<cuda::MappedPiece> pieces,
                             const std::string& whom) {
  const std::string what = "mapping memory of " + whom;
  if (pieces.empty()) {
    return once(lent, [&] {
      return std::make_shared<cuda::Mapped>(gpu_.context(), lent.handle, what + kWhatIpcTakes);
    });
  }
  if (lent.kind == cuda::ShareableKind::kPool) {
    return once(lent, [&] {
      return std::make_shared<cuda::MappedOfPool>(gpu_, std::move(pieces[0].memory), lent.handle,
                                                  what);
    });
  }
  auto range = std::make_shared<cuda::MappedRange>(gpu_, pieces, what);
  char* begin = reinterpret_cast<char*>(range->pointer());
  return {begin, std::move(range)};
}

template <class Open>
Reached PeerMemory::once(const Lent& lent, const Open& open) {
  std::erase_if(imported_, [](const Imported& one) { return one.mapped.expired(); });
  const auto found = std::ranges::find_if(imported_, [&](const Imported& one) {
    return one.lent.process == lent.process && one.lent.device == lent.device &&
           !std::memcmp(&one.lent.handle, &lent.handle, sizeof lent.handle);
  });
  if (found != imported_.end()) return {found->begin, found->mapped.lock()};
  const auto mapped = open();
  char* begin = reinterpret_cast<char*>(mapped->pointer());
  imported_.push_back({lent, begin, mapped});
  return {begin, mapped};
}

Reached PeerMemory::allowed(const Lent& lent, const std::string& whom) {
  const std::string what = "reaching " + whom;
  if (!lent.pieces) {
    reach(lent, whom);
  } else if (lent.kind == cuda::ShareableKind::kPool) {
    cuda::allow_access_to_pool(gpu_.device(), lent.device, what);
  } else {
    cuda::allow_access(gpu_.device(), lent.device, lent.bytes, what);
  }
  return {reinterpret_cast<char*>(lent.device), nullptr};
}

void PeerMemory::reach(const Lent& lent, const std::string& whom) {
  cuda::Device device;
  cuda_.check(cuda_.device_by_bus_id(&device, lent.bus_id), "finding " + whom);
  const auto is_open = [&](const auto& gpu) { return gpu->device() == device; };
  if (device == gpu_.device() || std::ranges::any_of(others_, is_open)) return;
  others_.push_back(std::make_unique<cuda::Gpu>(device, whom));
  const cuda::Result result = cuda_.enable_peer_access(others_.back()->context(), 0);
  if (result != kPeerAccessAlreadyEnabled) cuda_.check(result, "reaching " + whom);
}

}  // namespace railgauge::gpu
