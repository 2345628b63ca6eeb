// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/patterns.h"

#include <algorithm>
#include <string>

#include "collectives/native/gpu/fatbins.h"
#include "collectives/native/kernels/wrong.h"
#include "collectives/native/pattern_data.h"
#include "transports/native/cuda/waiting.h"

namespace railgauge::gpu {

namespace {

constexpr unsigned kPatternThreads = 256;
constexpr std::size_t kMostPatternBlocks =
    2048;  // enough to fill a GPU; more would alternate anyway
constexpr cuda::Stream kDefaultStream = nullptr;  // copies from the host are in its order

}  // namespace

Patterns::Patterns(int device, double timeout_s)
    : timeout_s_(timeout_s),
      wrong_(device, sizeof(Wrong)),
      kernels_(wrong_.context(), pattern_fatbin(), "for data") {}

template <class... Parameters>
void Patterns::launch(const char* what, const DataPattern& pattern, std::size_t count,
                      Parameters... parameters) {
  if (count == 0) return;
  const std::string name = std::string(what) +
                           (pattern.kind == PatternKind::kExact ? "_exact_" : "_random_") +
                           dtype_name(pattern.dtype);
  const cuda::Current current(wrong_.context());
  const cuda::Function function = kernels_.function(name);
  const auto blocks = static_cast<unsigned>(
      std::min((count + kPatternThreads - 1) / kPatternThreads, kMostPatternBlocks));
  with_data(pattern, [&](auto data, auto) {
    void* all[] = {&data, &parameters...};
    cuda_.check(cuda_.launch(function, blocks, 1, 1, kPatternThreads, 1, 1, 0, kDefaultStream, all,
                             nullptr),
                "starting " + name);
  });
  cuda::await(wrong_.context(), kDefaultStream, timeout_s_, "running " + name);
}

void Patterns::fill(const DataPattern& pattern, int rank, cuda::Pointer data, std::size_t count,
                    std::uint64_t first) {
  launch("fill", pattern, count, rank, data, count, first);
}

Verdict Patterns::check_copied(const DataPattern& pattern, int rank, cuda::Pointer data,
                               std::size_t count, std::uint64_t first) {
  const Wrong none;
  wrong_.write(&none, sizeof none);
  launch("check_copied", pattern, count, rank, data, count, first, wrong_.pointer());
  return verdict(pattern, data, [&](const void* got, std::uint64_t index) {
    return railgauge::check_copied(pattern, rank, got, 1, first + index);
  });
}

Verdict Patterns::check_reduced(const DataPattern& pattern, cuda::Pointer data, std::size_t count,
                                std::uint64_t first) {
  const Wrong none;
  wrong_.write(&none, sizeof none);
  launch("check_reduced", pattern, count, data, count, first, wrong_.pointer());
  return verdict(pattern, data, [&](const void* got, std::uint64_t index) {
    return railgauge::check_reduced(pattern, got, 1, first + index);
  });
}

// The GPU counts; for the first wrong element the host computes the expected value.
template <class CheckOnHost>
Verdict Patterns::verdict(const DataPattern& pattern, cuda::Pointer data,
                          CheckOnHost check_on_host) const {
  Wrong wrong;
  wrong_.read(&wrong, sizeof wrong);
  if (wrong.count == 0) return {};
  const std::size_t size = dtype_bytes(pattern.dtype);
  std::uint64_t got = 0;
  const cuda::Current current(wrong_.context());
  cuda_.check(cuda_.memory_read(&got, data + wrong.first * size, size), "reading memory of a GPU");
  Verdict verdict = check_on_host(&got, wrong.first);
  if (verdict.wrong == 0) {
    throw Error(ErrorCode::kSystem, "the GPU finds " + std::to_string(wrong.count) +
                                        " elements wrong, and the host finds the first of them (" +
                                        std::to_string(wrong.first) +
                                        ") correct: one of them computes wrong results");
  }
  verdict.wrong = wrong.count;
  verdict.index = wrong.first;
  return verdict;
}

}  // namespace railgauge::gpu
