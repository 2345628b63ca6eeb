// SPDX-License-Identifier: Apache-2.0
// Reductions of elements that are multiplied first: piece by piece through memory of the engine's
// own, since the source stays as it is.
#include <algorithm>
#include <string>

#include "collectives/native/gpu/engine.h"
#include "collectives/native/scale.h"

namespace railgauge::gpu {

namespace {

constexpr std::size_t kScaledBytes = 4 << 20;
constexpr std::size_t kAligned = 128;  // bytes: parts begin there, so that vectors stay aligned
constexpr unsigned kScaleThreads = 512, kMostBlocksOfScale = 32;

}  // namespace

void Engine::run_scaled(const Operation& operation, double factor, cuda::Stream stream) {
  const std::size_t element = operation.element_bytes(), all = operation.count;
  if (!operation.reduces()) throw Error(ErrorCode::kInvalid, "a factor is for reductions");
  const bool is_float = operation.dtype == Dtype::kFloat16 || operation.dtype == Dtype::kBfloat16 ||
                        operation.dtype == Dtype::kFloat32 || operation.dtype == Dtype::kFloat64 ||
                        operation.dtype == Dtype::kFloat8E4m3 ||
                        operation.dtype == Dtype::kFloat8E5m2;
  if (!is_float && !fits(operation.dtype, factor))
    throw Error(ErrorCode::kInvalid,
                "factor " + std::to_string(factor) + " is not a number of the elements' type");
  const bool scatters = operation.collective == Collective::kReduceScatter;
  const std::size_t parts = scatters ? ranks() : 1;
  const std::size_t most = kScaledBytes / parts / kAligned * kAligned / element;
  if (!scaled_) scaled_.emplace(device_, kScaledBytes);
  auto* const scaled = reinterpret_cast<std::byte*>(scaled_->pointer());
  in_turn(stream, [&] {
    for (std::size_t at = 0; at < all; at += most) {
      Operation piece = operation;
      piece.op = Redop::kSum;
      piece.count = std::min(most, all - at);
      piece.source = scaled;
      if (operation.destination) piece.destination = operation.destination + at * element;
      for (std::size_t part = 0; part < parts; ++part) {
        std::byte* to = scaled + part * piece.count * element;
        const std::byte* from = operation.source + (part * all + at) * element;
        void* parameters[] = {&to, &from, &piece.count, &factor};
        const unsigned blocks =
            std::min({kMostBlocksOfScale, layout_.blocks, unsigned(least_processors_)});
        launch(kernels_->scale(operation.dtype), blocks, kScaleThreads, stream, parameters,
               "multiplying elements");
      }
      const Choice choice = choices_.due(piece);
      put(piece, stream, choice);
      count(piece, choice, 1);
    }
  });
}

}  // namespace railgauge::gpu
