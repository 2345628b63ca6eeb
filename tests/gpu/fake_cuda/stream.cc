// SPDX-License-Identifier: Apache-2.0
// Streams, a thread for each; events; graphs, which are the work that was put on a stream.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fake.h"

namespace railgauge::cuda {

struct CUgraph_st {
  std::vector<Work> work;
  bool whole = false;  // its capture has ended
};
struct CUgraphExec_st {
  std::vector<Work> work;
};

namespace {

using Time = std::chrono::steady_clock::time_point;

// What is under way on a stream at most: who puts more there waits, as on a GPU.
constexpr std::size_t kMost = 1024;

// Runs work in order on a thread of its own, which ends once the queue is closed and empty.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  void start() {
    std::thread([self = shared_from_this()] { self->run(); }).detach();
  }
  void put(Work work) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.size() < kMost; });
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return work_.empty();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty(); });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closed_ || !work_.empty(); });
      if (work_.empty()) return;
      lock.unlock();
      work_.front()();  // stays there meanwhile: it is under way
      lock.lock();
      work_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> work_;
  bool closed_ = false;
};

std::mutex mutex;  // of what follows
std::multimap<Context, std::shared_ptr<Queue>>& queues() {
  static auto* all = new std::multimap<Context, std::shared_ptr<Queue>>;  // threads outlive main()
  return *all;
}

std::shared_ptr<Queue> make_queue(Context context) {
  const auto queue = std::make_shared<Queue>();
  queue->start();
  queues().emplace(context, queue);
  return queue;
}

}  // namespace

struct CUstream_st {
  std::shared_ptr<Queue> queue;
  std::shared_ptr<CUgraph_st> captured;  // what is put here now, or was before

  bool is_captured() const { return captured && !captured->whole; }
};

struct CUevent_st {
  struct Record {
    bool done = false;
    Time when;
    std::condition_variable_any changed;
    std::shared_ptr<CUgraph_st> captured;  // a part of that
  };
  std::shared_ptr<Record> last;  // recorded; null: never
};

namespace {

// The current GPU's default stream.
Stream default_stream() {
  static std::map<Context, Stream> all;
  const std::lock_guard lock(mutex);
  Stream& stream = all[current_context()];
  if (!stream) stream = new CUstream_st{make_queue(current_context()), nullptr};
  return stream;
}

void come(CUevent_st::Record& record) {
  const std::lock_guard lock(mutex);
  record.when = std::chrono::steady_clock::now();
  record.done = true;
  record.changed.notify_all();
}

Stream or_default(Stream stream) { return stream ? stream : default_stream(); }

}  // namespace

Result put(Stream asked, Work work) {
  if (!asked && !current_context()) return kInvalidContext;
  const Stream stream = or_default(asked);
  if (stream->is_captured()) {
    stream->captured->work.push_back(std::move(work));
  } else {
    stream->queue->put(std::move(work));
  }
  return kSuccess;
}

Result wait_default() {
  if (!current_context()) return kInvalidContext;
  default_stream()->queue->wait();
  return kSuccess;
}

void wait_idle(Context context) {
  std::vector<std::shared_ptr<Queue>> found;
  {
    const std::lock_guard lock(mutex);
    const auto [begin, end] = queues().equal_range(context);
    for (auto one = begin; one != end; ++one) found.push_back(one->second);
  }
  for (const auto& queue : found) queue->wait();
}

extern "C" {

Result cuStreamCreate(Stream* stream, unsigned) {
  RAILGAUGE_FAULT();
  if (!current_context()) return kInvalidContext;
  const std::lock_guard lock(mutex);
  *stream = new CUstream_st{make_queue(current_context()), nullptr};
  return kSuccess;
}

Result cuStreamDestroy_v2(Stream stream) {  // what is on it goes on
  if (!stream) return kInvalidHandle;
  stream->queue->close();
  delete stream;
  return kSuccess;
}

Result cuStreamQuery(Stream asked) {
  RAILGAUGE_FAULT();
  if (!asked && !current_context()) return kInvalidContext;
  const Stream stream = or_default(asked);
  if (stream->is_captured()) return kCaptureUnsupported;
  return stream->queue->is_idle() ? kSuccess : kNotReady;
}

// Not in driver.h's list, since it is newer than the rest.
Result cuCtxRecordEvent(Context context, Event event) {
  const auto record = event->last = std::make_shared<CUevent_st::Record>();
  std::thread([record, context] {
    wait_idle(context);
    come(*record);
  }).detach();
  return kSuccess;
}

Result cuEventCreate(Event* event, unsigned) {
  *event = new CUevent_st;
  return kSuccess;
}

Result cuEventDestroy_v2(Event event) {
  delete event;
  return kSuccess;
}

Result cuEventRecord(Event event, Stream stream) {
  RAILGAUGE_FAULT();
  const auto record = event->last = std::make_shared<CUevent_st::Record>();
  if (stream && stream->is_captured()) record->captured = stream->captured;
  return put(stream, [record] { come(*record); });
}

Result cuEventQuery(Event event) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  return !event->last || event->last->done ? kSuccess : kNotReady;
}

Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  if (!event->last) return kSuccess;
  // A stream that waits for what is captured is captured with it.
  if (const auto& graph = event->last->captured; graph && !graph->whole) stream->captured = graph;
  return put(stream, [record = event->last] {
    std::unique_lock lock(mutex);
    record->changed.wait(lock, [&] { return record->done; });
  });
}

Result cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  const std::lock_guard lock(mutex);
  if (!begin->last || !end->last) return kInvalidHandle;
  if (!begin->last->done || !end->last->done) return kNotReady;
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->last->when - begin->last->when).count();
  return kSuccess;
}

Result cuStreamBeginCapture_v2(Stream stream, int) {
  if (!stream || stream->is_captured()) return kCaptureUnsupported;
  stream->captured = std::make_shared<CUgraph_st>();
  return kSuccess;
}

Result cuStreamEndCapture(Stream stream, Graph* graph) {
  if (!stream || !stream->is_captured()) return kCaptureUnmatched;
  stream->captured->whole = true;
  *graph = new CUgraph_st(*stream->captured);
  return kSuccess;
}

Result cuGraphInstantiateWithFlags(GraphRun* run, Graph graph, unsigned long long) {
  RAILGAUGE_FAULT();
  *run = new CUgraphExec_st{graph->work};
  return kSuccess;
}

Result cuGraphLaunch(GraphRun run, Stream stream) {
  return put(stream, [all = run->work] {
    for (const Work& work : all) work();
  });
}

Result cuGraphExecDestroy(GraphRun run) {
  delete run;
  return kSuccess;
}

Result cuGraphDestroy(Graph graph) {
  delete graph;
  return kSuccess;
}

}  // extern "C"

}  // namespace railgauge::cuda
