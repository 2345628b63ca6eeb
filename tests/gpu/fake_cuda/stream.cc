// SPDX-License-Identifier: Apache-2.0
// Streams, a thread for each; events; graphs, which are the work that was put on a stream.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "fake.h"

namespace railgauge::cuda {

// A part of a graph: at each launch, the work that it puts on the stream.
using Part = std::function<Work()>;
struct CUgraphNode_st {
  Part part;
};
struct CUgraph_st {
  std::uint64_t number = 0;         // of its capture
  std::list<CUgraphNode_st> parts;  // run one after another

  std::list<CUgraphNode_st>::iterator find(GraphNode node) {
    return std::find_if(parts.begin(), parts.end(), [node](auto& one) { return &one == node; });
  }
  std::vector<Stream>
      streams;         // that are captured into it; first the one that the capture began on
  bool whole = false;  // its capture has ended
};
struct CUgraphExec_st {
  std::list<CUgraphNode_st> parts;
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
  std::size_t length() {
    const std::lock_guard lock(mutex_);
    return work_.size();
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
  bool unjoined = false;  // something was put here that the stream of the capture does not wait for

  GraphNode end = nullptr;  // of what was captured here last

  bool is_captured() const { return captured && !captured->whole; }
  void capture(Part part) {
    captured->parts.push_back({std::move(part)});
    end = &captured->parts.back();
  }
};

struct CUevent_st {
  struct Record {
    bool done = false;
    Time when;
    std::condition_variable_any changed;
    std::shared_ptr<CUgraph_st> captured;  // a part of that
    Stream stream = nullptr;               // that it was recorded on then
  };
  std::shared_ptr<Record> last;  // recorded; null: never
};

namespace {

const Stream kLegacy = reinterpret_cast<Stream>(1), kPerThread = reinterpret_cast<Stream>(2);

bool is_default(Stream asked) { return !asked || asked == kLegacy; }

Stream of_current(std::map<Context, Stream>& all) {
  const std::lock_guard lock(mutex);
  Stream& stream = all[current_context()];
  if (!stream) stream = new CUstream_st{make_queue(current_context()), nullptr};
  return stream;
}

// The current GPU's default stream.
Stream default_stream() {
  static std::map<Context, Stream> all;
  return of_current(all);
}

// The stream of a handle; null: there is no context that a default one would be of.
Stream resolved(Stream asked) {
  if (!is_default(asked) && asked != kPerThread) return asked;
  if (!current_context()) return nullptr;
  if (is_default(asked)) return default_stream();
  static thread_local std::map<Context, Stream> own;  // for good
  return of_current(own);
}

std::shared_ptr<CUevent_st::Record> record_anew(Event event) {
  return event->last = std::make_shared<CUevent_st::Record>();
}

// Waits for what is recorded by now.
Work waiting_for(Event event) {
  return [record = event->last] {
    std::unique_lock lock(mutex);
    if (record) record->changed.wait(lock, [&] { return record->done; });
  };
}

void come(CUevent_st::Record& record) {
  const std::lock_guard lock(mutex);
  record.when = std::chrono::steady_clock::now();
  record.done = true;
  record.changed.notify_all();
}

}  // namespace

Result put(Stream asked, Work work) {
  const Stream stream = resolved(asked);
  if (!stream) return kInvalidContext;
  if (stream->is_captured()) {
    stream->capture([work = std::move(work)] { return work; });
    stream->unjoined = true;
  } else {
    stream->queue->put(std::move(work));
  }
  return kSuccess;
}

std::size_t under_way(Stream asked) {
  const Stream stream = resolved(asked);
  return stream ? stream->queue->length() : 0;
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
  const Stream stream = resolved(asked);
  if (!stream) return kInvalidContext;
  if (stream->is_captured()) return kCaptureUnsupported;
  return stream->queue->length() ? kNotReady : kSuccess;
}

// Not in driver.h's list, since it is newer than the rest.
Result cuCtxRecordEvent(Context context, Event event) {
  const auto record = record_anew(event);
  std::thread([record, context] {
    wait_idle(context);
    come(*record);
  }).detach();
  return kSuccess;
}

Result cuEventCreate(Event* event, unsigned) {
  if (!current_context()) return kInvalidContext;
  *event = new CUevent_st;
  return kSuccess;
}

Result cuEventDestroy_v2(Event event) {
  delete event;
  return kSuccess;
}

Result cuEventRecord(Event event, Stream asked) {
  RAILGAUGE_FAULT();
  const Stream stream = resolved(asked);
  const auto record = record_anew(event);
  if (stream && stream->is_captured()) {
    record->captured = stream->captured;
    record->stream = stream;
    return kSuccess;
  }
  return put(stream, [record] { come(*record); });
}

Result cuEventQuery(Event event) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  if (event->last && event->last->captured) return kCapturedEvent;
  return !event->last || event->last->done ? kSuccess : kNotReady;
}

Result cuStreamWaitEvent(Stream asked, Event event, unsigned flags) {
  const Stream stream = resolved(asked);
  if (!stream) return kInvalidContext;
  const bool is_captured = stream->is_captured();
  if (flags) {
    if (!is_captured) return kInvalidValue;
    stream->capture([event] { return waiting_for(event); });
    return kSuccess;
  }
  if (!event->last) return kSuccess;
  const auto& graph = event->last->captured;
  if (!graph) return is_captured ? kCaptureIsolation : put(stream, waiting_for(event));
  if (graph->whole || is_default(asked)) return kCapturedEvent;
  if (is_captured && stream->captured != graph) return kCaptureMerge;
  if (!is_captured) {  // a stream that waits for what is captured is captured with it
    stream->captured = graph;
    stream->end = event->last->stream->end;
    graph->streams.push_back(stream);
  }
  event->last->stream->unjoined &= event->last->stream == graph->streams.front();
  return kSuccess;
}

Result cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  const std::lock_guard lock(mutex);
  if (!begin->last || !end->last) return kInvalidHandle;
  if (!begin->last->done || !end->last->done) return kNotReady;
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->last->when - begin->last->when).count();
  return kSuccess;
}

Result cuStreamBeginCapture_v2(Stream asked, int) {
  const Stream stream = resolved(asked);
  if (is_default(asked) || !stream || stream->is_captured()) return kCaptureUnsupported;
  static std::atomic<std::uint64_t> captures{0};
  stream->captured = std::make_shared<CUgraph_st>();
  stream->captured->number = ++captures;
  stream->captured->streams.push_back(stream);
  stream->end = nullptr;
  return kSuccess;
}

Result cuStreamEndCapture(Stream asked, Graph* graph) {
  const Stream stream = resolved(asked);
  if (!stream || !stream->is_captured()) return kCaptureUnmatched;
  CUgraph_st& captured = *stream->captured;
  captured.whole = true;
  for (const Stream other : captured.streams) {
    if (other != stream && std::exchange(other->unjoined, false)) return kCaptureUnjoined;
  }
  stream->unjoined = false;
  *graph = new CUgraph_st(captured);
  return kSuccess;
}

Result cuStreamGetCaptureInfo_v2(Stream asked, int* status, std::uint64_t* number, Graph* graph,
                                 const GraphNode** ends, std::size_t* count) {
  if (is_default(asked)) return kCaptureImplicit;  // as while any other stream is captured
  const Stream stream = resolved(asked);
  if (!stream) return kInvalidContext;
  *status = stream->is_captured();
  if (!*status) return kSuccess;
  *number = stream->captured->number;
  *graph = stream->captured.get();
  *ends = &stream->end;
  *count = stream->end != nullptr;
  return kSuccess;
}

// Each launch of the graph records anew.
Result cuGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode* from,
                                 std::size_t count, Event event) {
  graph->parts.push_back(
      {[event]() -> Work { return [record = record_anew(event)] { come(*record); }; }});
  *node = &graph->parts.back();
  const std::vector<GraphNode> to(count, *node);
  return cuGraphAddDependencies(graph, from, to.data(), count);
}

Result cuGraphAddDependencies(Graph graph, const GraphNode* from, const GraphNode* to,
                              std::size_t count) {
  auto& parts = graph->parts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = graph->find(from[i]), then = graph->find(to[i]);
    if (first == parts.end() || then == parts.end()) return kInvalidValue;
    if (std::distance(parts.begin(), then) < std::distance(parts.begin(), first)) {
      parts.splice(std::next(first), parts, then);
    }
  }
  return kSuccess;
}

Result cuGraphRemoveDependencies(Graph graph, const GraphNode* from, const GraphNode* to,
                                 std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (graph->find(from[i]) == graph->parts.end() || graph->find(to[i]) == graph->parts.end()) {
      return kInvalidValue;
    }
  }
  return kSuccess;
}

Result cuGraphInstantiateWithFlags(GraphRun* run, Graph graph, unsigned long long) {
  RAILGAUGE_FAULT();
  *run = new CUgraphExec_st{graph->parts};
  return kSuccess;
}

Result cuGraphLaunch(GraphRun run, Stream stream) {
  std::vector<Work> all;
  for (const auto& node : run->parts) all.push_back(node.part());
  return put(stream, [all = std::move(all)] {
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
