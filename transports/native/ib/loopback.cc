// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/loopback.h"

#include <string>

#include "transports/native/clock.h"
#include "transports/native/waiting.h"

namespace railgauge::ib {

namespace {

constexpr QueuePair::Depth kDepth{4, 1};
constexpr unsigned kAccess = abi::kRemoteWrite | abi::kRemoteRead;

}  // namespace

Loopback::Loopback(const std::shared_ptr<Rail>& rail)
    : rail_(rail),
      completions_(std::make_shared<CompletionChannel>(rail), kDepth.sends + kDepth.receives),
      pair_(rail, completions_, 0, kDepth, kAccess) {
  pair_.connect(pair_.facts(), 0);
}

void Loopback::write(const Region& region, const std::byte* from, const Region& into,
                     const std::byte* to, std::size_t bytes, std::chrono::nanoseconds limit) {
  move(abi::kWrRdmaWrite, region, from, into, to, bytes, limit);
}

void Loopback::read(const Region& region, const std::byte* from, const Region& into, std::byte* to,
                    std::size_t bytes, std::chrono::nanoseconds limit) {
  move(abi::kWrRdmaRead, into, to, region, from, bytes, limit);
}

void Loopback::move(int opcode, const Region& here, const std::byte* at, const Region& there,
                    const std::byte* remote, std::size_t bytes, std::chrono::nanoseconds limit) {
  abi::Sge part{reinterpret_cast<std::uint64_t>(at), static_cast<std::uint32_t>(bytes),
                here.lkey(*rail_)};
  abi::SendWr wr{};
  wr.sg_list = &part;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.wr.rdma = {reinterpret_cast<std::uint64_t>(remote), there.rkey(*rail_)};
  const std::uint64_t number = pair_.post(wr, true);
  const std::string what =
      (opcode == abi::kWrRdmaRead ? "RDMA READ over " : "RDMA WRITE over ") + rail_->name();
  const Clock::time_point by = Clock::now() + limit;
  while (pair_.done() < number) {
    Completion done;
    if (completions_.poll(&done, 1) == 0) {
      if (Clock::now() > by) throw Error(ErrorCode::kTimeout, what + ": not finished in time");
      Waiting::relax();
      continue;
    }
    if (done.status != abi::kWcSuccess) {
      throw Error(ErrorCode::kSystem, what + ": " + Verbs::get().wc_status_str(done.status) +
                                          " (vendor error " + std::to_string(done.vendor_error) +
                                          ")");
    }
    pair_.done(done.number);
  }
}

}  // namespace railgauge::ib
