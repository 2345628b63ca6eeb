// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 that moves nothing: it writes down how it is called. FAKE_NCCL_VERSION, of the
// compiler, is its release, and later functions are missing as they are there.
//
// The environment says more:
//   FAKE_NCCL_CALLS  the file that calls are added to, a line each
//   FAKE_NCCL_FAULT  FUNCTION=RESULT: what it answers; FUNCTION=hang: it waits until it is aborted
//   NCCL_ALGO, NCCL_PROTO, NCCL_MAX_NCHANNELS  what it says that it chose; it has no NVLS
//   NCCL_DEBUG, NCCL_DEBUG_FILE, NCCL_DEBUG_SUBSYS, NCCL_TOPO_FILE, NCCL_GRAPH_FILE  as with NCCL
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace {

struct Comm {
  int rank, ranks;
  std::atomic<bool> aborted = false;
};
struct UniqueId {
  char bytes[128];
};
constexpr int kInternalError = 3, kInvalidUsage = 5;

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void note(const char* format, ...) {
  const std::string path = setting("FAKE_NCCL_CALLS");
  if (path.empty()) return;
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::FILE* file = std::fopen(path.c_str(), "a");
  std::fprintf(file, "%s\n", text);
  std::fclose(file);
}

void tell(const char* format, ...) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static std::FILE* file = [] {
    const std::string path = setting("NCCL_DEBUG_FILE");
    return path.empty() ? stdout : std::fopen(path.c_str(), "w");
  }();
  if (setting("NCCL_DEBUG") != "INFO") return;
  std::fprintf(file, "fake:%d:%d [0] NCCL INFO ", getpid(), gettid());
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fputs("\n", file);
  std::fflush(file);
}

// What a function is told to answer; 0 where nothing is.
int fault(const char* function, Comm* comm) {
  const std::string told = setting("FAKE_NCCL_FAULT"), name = std::string(function) + "=";
  if (!told.starts_with(name)) return 0;
  const std::string result = told.substr(name.size());
  if (result != "hang") return std::stoi(result);
  while (!comm || !comm->aborted) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return kInternalError;
}

// A setting in capitals, as NCCL logs what it chose.
std::string chosen(const char* name, const char* otherwise) {
  std::string value = setting(name);
  for (char& one : value) one = static_cast<char>(std::toupper(one));
  return value.empty() ? otherwise : value;
}

int moved(const char* function, Comm* comm, const void* from, void* to, std::size_t count, int type,
          int op, int other) {
  note("%d %s %zx %zx count %zu type %d op %d with %d", comm->rank, function,
       reinterpret_cast<std::size_t>(from), reinterpret_cast<std::size_t>(to), count, type, op,
       other);
  if (setting("NCCL_DEBUG_SUBSYS").find("TUNING") != std::string::npos) {
    const std::string channels = chosen("NCCL_MAX_NCHANNELS", "4");
    tell("AllReduce: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}", count,
         chosen("NCCL_ALGO", "RING").c_str(), chosen("NCCL_PROTO", "LL128").c_str(),
         std::stoi(channels) - 1);
  }
  if (chosen("NCCL_ALGO", "").starts_with("NVLS")) return kInvalidUsage;
  return fault(function, comm);
}

// A function of the fake libcuda, which is open already.
template <class Function>
Function of_cuda(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = FAKE_NCCL_VERSION;
  return 0;
}
const char* ncclGetErrorString(int) { return "fake error"; }
int ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 7, sizeof *id);
  return 0;
}
int ncclCommInitRank(Comm** comm, int ranks, UniqueId id, int rank) {
  note("%d ncclCommInitRank ranks %d id %d", rank, ranks, id.bytes[127]);
  if (const int told = fault("ncclCommInitRank", nullptr)) return told;
  *comm = new Comm{rank, ranks};
  if (!setting("NCCL_TOPO_FILE").empty())
    tell("Loading topology file %s", setting("NCCL_TOPO_FILE").c_str());
  if (!setting("NCCL_GRAPH_FILE").empty()) {
    tell("Search 0 : 5 channels loaded from XML graph");
    tell("Search 1 : 5 channels loaded from XML graph");
  }
  tell("2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels");
  for (int channel = 0; channel < 2; ++channel) {
    tell("Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM", channel, rank, rank, (rank + 1) % ranks,
         (rank + 1) % ranks);
  }
  return 0;
}
int ncclCommDestroy(Comm* comm) {
  note("%d ncclCommDestroy", comm->rank);
  delete comm;
  return 0;
}
int ncclCommAbort(Comm* comm) {  // it stays: another thread may be in it
  note("%d ncclCommAbort", comm->rank);
  comm->aborted = true;
  return 0;
}
int ncclCommGetAsyncError(Comm* comm, int* result) {
  *result = fault("async", comm);
  return 0;
}
int ncclGroupStart() {
  note("- ncclGroupStart");
  return 0;
}
int ncclGroupEnd() {
  note("- ncclGroupEnd");
  return 0;
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op, Comm* comm,
                  void*) {
  return moved("ncclAllReduce", comm, from, to, count, type, op, -1);
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, Comm* comm, void*) {
  return moved("ncclAllGather", comm, from, to, count, type, -1, -1);
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int op, Comm* comm,
                      void*) {
  return moved("ncclReduceScatter", comm, from, to, count, type, op, -1);
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, Comm* comm,
                  void*) {
  return moved("ncclBroadcast", comm, from, to, count, type, -1, root);
}
int ncclReduce(const void* from, void* to, std::size_t count, int type, int op, int root,
               Comm* comm, void*) {
  return moved("ncclReduce", comm, from, to, count, type, op, root);
}
int ncclSend(const void* from, std::size_t count, int type, int peer, Comm* comm, void*) {
  return moved("ncclSend", comm, from, nullptr, count, type, -1, peer);
}
int ncclRecv(void* to, std::size_t count, int type, int peer, Comm* comm, void*) {
  return moved("ncclRecv", comm, nullptr, to, count, type, -1, peer);
}

#if FAKE_NCCL_VERSION >= 21900
int ncclMemAlloc(void** memory, std::size_t size) {
  note("- ncclMemAlloc %zu", size);
  return of_cuda<int (*)(void**, std::size_t)>("cuMemAlloc_v2")(memory, size);
}
int ncclMemFree(void* memory) {
  note("- ncclMemFree");
  return of_cuda<int (*)(void*)>("cuMemFree_v2")(memory);
}
int ncclCommRegister(Comm* comm, void*, std::size_t size, void** handle) {
  note("%d ncclCommRegister %zu", comm->rank, size);
  *handle = comm;
  return 0;
}
int ncclCommDeregister(Comm* comm, void* handle) {
  note("%d ncclCommDeregister %d", comm->rank, handle == comm);
  return 0;
}
#endif

#if FAKE_NCCL_VERSION >= 22700
int ncclCommWindowRegister(Comm* comm, void*, std::size_t size, void** window, int flags) {
  note("%d ncclCommWindowRegister %zu flags %d", comm->rank, size, flags);
  *window = comm;
  return fault("ncclCommWindowRegister", comm);
}
int ncclCommWindowDeregister(Comm* comm, void* window) {
  note("%d ncclCommWindowDeregister %d", comm->rank, window == comm);
  return 0;
}
#endif

#if FAKE_NCCL_VERSION >= 22800
int ncclAlltoAll(const void* from, void* to, std::size_t count, int type, Comm* comm, void*) {
  return moved("ncclAlltoAll", comm, from, to, count, type, -1, -1);
}
int ncclGather(const void* from, void* to, std::size_t count, int type, int root, Comm* comm,
               void*) {
  return moved("ncclGather", comm, from, to, count, type, -1, root);
}
int ncclScatter(const void* from, void* to, std::size_t count, int type, int root, Comm* comm,
                void*) {
  return moved("ncclScatter", comm, from, to, count, type, -1, root);
}
#endif

}  // extern "C"
