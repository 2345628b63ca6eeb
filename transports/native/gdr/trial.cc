// SPDX-License-Identifier: Apache-2.0
#include "transports/native/gdr/trial.h"

#include <algorithm>
#include <optional>
#include <random>

#include "transports/native/cuda/facts.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/ib/loopback.h"
#include "transports/native/ib/region.h"

namespace railgauge::gdr {

namespace {

constexpr unsigned kAccess = ib::abi::kRemoteWrite | ib::abi::kRemoteRead;

int device_of(const std::string& bus_id) {
  for (int device = cuda::count(); device-- > 0;) {
    if (cuda::facts(device).bus_id == bus_id) return device;
  }
  throw Error(ErrorCode::kSystem,
              "CUDA finds no GPU for this process " + bus_id + " (CUDA_VISIBLE_DEVICES?)");
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> made(bytes);
  std::generate(made.begin(), made.end(), [&] { return static_cast<std::byte>(random()); });
  return made;
}

// Where two buffers differ, in words; empty: nowhere.
std::string difference(const std::vector<std::byte>& wanted, const std::vector<std::byte>& got) {
  std::size_t wrong = 0, first = 0;
  for (std::size_t at = wanted.size(); at-- > 0;) {
    if (wanted[at] == got[at]) continue;
    ++wrong;
    first = at;
  }
  if (wrong == 0) return "";
  return std::to_string(wrong) + " of " + std::to_string(wanted.size()) +
         " bytes are wrong, the first at " + std::to_string(first);
}

}  // namespace

Trial tried(const std::shared_ptr<ib::Rail>& rail, const std::string& bus_id, std::size_t bytes,
            bool dma_buf, std::chrono::nanoseconds limit) {
  cuda::Memory memory(device_of(bus_id), bytes);
  memory.set(0, bytes);
  const auto* on_gpu = reinterpret_cast<const std::byte*>(memory.pointer());
  std::optional<ib::Region> gpu;
  Trial trial;
  trial.registration = registered(memory.context(), memory.pointer(), bytes, dma_buf,
                                  [&](std::shared_ptr<const DmaBuf> exported) {
                                    gpu.emplace(ib::Rails{rail}, on_gpu, bytes, kAccess, exported);
                                  });
  if (!gpu) {
    trial.failed = "cannot register the GPU's memory";
    return trial;
  }
  std::string step = "making a queue pair";
  try {
    ib::Loopback loopback(rail);
    std::vector<std::byte> sent = pattern(bytes, 1), got(bytes);
    const ib::Region source({rail}, sent.data(), bytes, 0);
    const ib::Region target({rail}, got.data(), bytes, kAccess);
    step = "into the GPU";
    loopback.write(source, sent.data(), *gpu, on_gpu, bytes, limit);
    loopback.read(*gpu, on_gpu, target, got.data(), 1, limit);  // data under way arrives first
    memory.read(got.data(), bytes);
    trial.failed = difference(sent, got);
    if (trial.failed.empty()) {
      step = "out of the GPU";
      sent = pattern(bytes, 2);
      memory.write(sent.data(), bytes);
      loopback.write(*gpu, on_gpu, target, got.data(), bytes, limit);
      trial.failed = difference(sent, got);
    }
    if (!trial.failed.empty()) trial.failed = step + ": " + trial.failed;
  } catch (const Error& error) {
    trial.failed = step + ": " + error.what();
  }
  return trial;
}

}  // namespace railgauge::gdr
