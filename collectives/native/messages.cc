// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/messages.h"

#include <algorithm>
#include <cstdio>

namespace railgauge {

namespace {

// How long a caller sleeps before it looks for signals and the timeout.
constexpr std::chrono::milliseconds kNap{20};
// How long the helper leaves the doorbell to callers after one was there.
constexpr std::chrono::milliseconds kLeave{5};
// How long the helper sleeps: peers ring.
constexpr std::chrono::seconds kLongNap{1};
constexpr int kPollsPerClock = 64;

std::string in_seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

Messages::Messages(int rank, std::vector<Pair> pairs, std::shared_ptr<Doorbell> doorbell,
                   Waiting::Policy policy)
    : doorbell_(std::move(doorbell)), policy_(policy), flow_(rank, std::move(pairs)) {
  if (ranks() > 1) helper_ = std::thread([this] { help(); });
}

Messages::~Messages() {
  {
    Lock lock(mutex_);
    ending_ = true;
  }
  helps_.notify_all();
  doorbell_->ring();
  if (helper_.joinable()) helper_.join();
}

void Messages::start(const TransferPtr& transfer) {
  Lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  try {
    flow_.start(transfer);
  } catch (const Error&) {
    failure_ = std::current_exception();
    flow_.fail(failure_);
  }
  progress();
  moved_.notify_all();
}

bool Messages::wait(const TransferPtr& transfer, std::optional<std::chrono::nanoseconds> limit) {
  Lock lock(mutex_);
  if (!transfer->done) {
    waited_for_.push_back(transfer);
    if (!wait(lock, *transfer, limit)) return false;
  }
  if (transfer->error) std::rethrow_exception(transfer->error);
  return true;
}

bool Messages::wait(Lock& lock, const Transfer& transfer,
                    std::optional<std::chrono::nanoseconds> limit) {
  const auto began = Clock::now();
  auto active = began, looked_up = began;
  in_use_ = began + kLeave;
  auto ended = [&] {
    std::erase_if(waited_for_, [&](const TransferPtr& one) { return one.get() == &transfer; });
  };
  while (!transfer.done) {
    for (int poll = 0; poll < kPollsPerClock && !transfer.done; ++poll) {
      if (progress()) {
        active = Clock::now();
        moved_.notify_all();
      }
      lock.unlock();
      Waiting::relax();
      lock.lock();
    }
    const auto now = Clock::now();
    in_use_ = now + kLeave;
    if (transfer.done) break;
    if (limit && now - began >= *limit) {
      ended();
      return false;
    }
    if (!limit && now - std::max(began, transfer.moved_at) >= policy_.timeout) {
      throw Error(ErrorCode::kTimeout,
                  "nothing moved for " + in_seconds(policy_.timeout) + ": " + transfer.describe());
    }
    if (policy_.look_up && now - looked_up >= kNap) {
      looked_up = now;
      lock.unlock();
      policy_.look_up();
      lock.lock();
      continue;
    }
    if (now - active < policy_.spin) continue;
    std::chrono::nanoseconds left = limit ? *limit - (now - began) : policy_.timeout;
    left = std::min<std::chrono::nanoseconds>(left, kNap);
    if (on_doorbell_) {
      moved_.wait_for(lock, left);
    } else {
      sleep(lock, left);
    }
  }
  if (!transfer.error) ended();
  return true;
}

void Messages::finish_sends() {
  std::vector<TransferPtr> sends;
  {
    Lock lock(mutex_);
    for (const auto& [number, transfer] : flow_.under_way()) {
      if (transfer->kind == Transfer::Kind::kSend) sends.push_back(transfer);
    }
  }
  for (const TransferPtr& send : sends) wait(send);
}

void Messages::fail(const Error& error) {
  Lock lock(mutex_);
  if (failure_) return;
  failure_ = std::make_exception_ptr(error);
  flow_.fail(failure_);
  moved_.notify_all();
}

bool Messages::is_amid() const {
  Lock lock(mutex_);
  return !flow_.under_way().empty();
}

TransferPtr Messages::waited_for() const {
  Lock lock(mutex_);
  return waited_for_.empty() ? nullptr : waited_for_.front();
}

void Messages::help() {
  Lock lock(mutex_);
  while (!ending_ && !failure_) {
    if (on_doorbell_ || Clock::now() < in_use_) {
      helps_.wait_for(lock, on_doorbell_ ? kNap : kLeave);
    } else {
      sleep(lock, kLongNap);
    }
  }
}

// Sleeps on the doorbell unless there is something to do.
void Messages::sleep(Lock& lock, std::chrono::nanoseconds limit) {
  on_doorbell_ = true;
  const std::uint32_t ticket = doorbell_->prepare_to_sleep();
  if (progress() || ending_ || failure_) {
    doorbell_->stay_awake();
  } else {
    lock.unlock();
    doorbell_->sleep(ticket, limit);
    lock.lock();
    progress();
  }
  on_doorbell_ = false;
  moved_.notify_all();
}

// Moves what can be moved; returns whether anything was. What fails ends all transfers.
bool Messages::progress() {
  if (failure_) return false;
  try {
    if (doorbell_->aborted()) throw Error(ErrorCode::kAborted, "asked to stop");
    Attendant* attendant = doorbell_->attendant();
    const bool attended = attendant && attendant->attend();
    return flow_.progress() || attended;
  } catch (const Error&) {
    failure_ = std::current_exception();
    flow_.fail(failure_);
    return true;
  }
}

}  // namespace railgauge
