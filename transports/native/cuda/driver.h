// SPDX-License-Identifier: Apache-2.0
// libcuda, opened at run time: one build runs with and without GPUs. The few types and numbers are
// those of CUDA's driver API (cuda.h); names are the functions' own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transports/native/error.h"

namespace railgauge::cuda {

using Result = int;
inline constexpr Result kNoDevice = 100;          // CUDA_ERROR_NO_DEVICE
inline constexpr unsigned kBesideTheDefault = 1;  // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kUntimed = 2;           // CU_EVENT_DISABLE_TIMING
using Device = int;
using Pointer = unsigned long long;
using Context = struct CUctx_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Graph = struct CUgraph_st*;
using GraphNode = struct CUgraphNode_st*;
using GraphRun = struct CUgraphExec_st*;
struct IpcHandle {
  char bytes[64];
};
using MemoryHandle = unsigned long long;  // CUmemGenericAllocationHandle; a CUmemoryPool as well
// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc.
struct MemoryLocation {
  int type, id;
};
struct MemoryProperties {
  int type, handle_types;
  MemoryLocation location;
  void* of_windows;
  unsigned char compression, gpu_direct_rdma;
  unsigned short usage;
  unsigned char reserved[4];
};
struct MemoryAccess {
  MemoryLocation location;
  int flags;
};
// CUmulticastObjectProp.
struct MulticastProperties {
  unsigned devices;
  std::size_t bytes;
  unsigned long long handle_types, flags;
};

// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id;
  int padding;
  union {
    int number;
    char bytes[64];
  } value;
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned n_attributes;
};

// Each is a member of Driver: X(name there, symbol, parameters).
#define RAILGAUGE_CUDA_FUNCTIONS(X)                                                                \
  X(init, cuInit, (unsigned))                                                                      \
  X(error_name, cuGetErrorName, (Result, const char**))                                            \
  X(error_text, cuGetErrorString, (Result, const char**))                                          \
  X(driver_version, cuDriverGetVersion, (int*))                                                    \
  X(device_count, cuDeviceGetCount, (int*))                                                        \
  X(device_get, cuDeviceGet, (Device*, int))                                                       \
  X(device_name, cuDeviceGetName, (char*, int, Device))                                            \
  X(device_by_bus_id, cuDeviceGetByPCIBusId, (Device*, const char*))                               \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, Device))                                   \
  X(device_bus_id, cuDeviceGetPCIBusId, (char*, int, Device))                                      \
  X(can_access_peer, cuDeviceCanAccessPeer, (int*, Device, Device))                                \
  X(context_retain, cuDevicePrimaryCtxRetain, (Context*, Device))                                  \
  X(context_release, cuDevicePrimaryCtxRelease_v2, (Device))                                       \
  X(context_push, cuCtxPushCurrent_v2, (Context))                                                  \
  X(context_pop, cuCtxPopCurrent_v2, (Context*))                                                   \
  X(enable_peer_access, cuCtxEnablePeerAccess, (Context, unsigned))                                \
  X(disable_peer_access, cuCtxDisablePeerAccess, (Context))                                        \
  X(memory_left, cuMemGetInfo_v2, (std::size_t*, std::size_t*))                                    \
  X(memory_allocate, cuMemAlloc_v2, (Pointer*, std::size_t))                                       \
  X(memory_free, cuMemFree_v2, (Pointer))                                                          \
  X(memory_range, cuMemGetAddressRange_v2, (Pointer*, std::size_t*, Pointer))                      \
  X(memory_set, cuMemsetD8_v2, (Pointer, unsigned char, std::size_t))                              \
  X(host_allocate, cuMemHostAlloc, (void**, std::size_t, unsigned))                                \
  X(host_free, cuMemFreeHost, (void*))                                                             \
  X(host_register, cuMemHostRegister_v2, (void*, std::size_t, unsigned))                           \
  X(host_unregister, cuMemHostUnregister, (void*))                                                 \
  X(host_pointer, cuMemHostGetDevicePointer_v2, (Pointer*, void*, unsigned))                       \
  X(ipc_export, cuIpcGetMemHandle, (IpcHandle*, Pointer))                                          \
  X(ipc_import, cuIpcOpenMemHandle_v2, (Pointer*, IpcHandle, unsigned))                            \
  X(ipc_close, cuIpcCloseMemHandle, (Pointer))                                                     \
  X(memory_create, cuMemCreate,                                                                    \
    (MemoryHandle*, std::size_t, const MemoryProperties*, unsigned long long))                     \
  X(memory_release, cuMemRelease, (MemoryHandle))                                                  \
  X(memory_retain, cuMemRetainAllocationHandle, (MemoryHandle*, void*))                            \
  X(memory_properties, cuMemGetAllocationPropertiesFromHandle, (MemoryProperties*, MemoryHandle))  \
  X(memory_granularity, cuMemGetAllocationGranularity,                                             \
    (std::size_t*, const MemoryProperties*, int))                                                  \
  X(memory_export, cuMemExportToShareableHandle, (void*, MemoryHandle, int, unsigned long long))   \
  X(memory_import, cuMemImportFromShareableHandle, (MemoryHandle*, void*, int))                    \
  X(addresses_reserve, cuMemAddressReserve,                                                        \
    (Pointer*, std::size_t, std::size_t, Pointer, unsigned long long))                             \
  X(addresses_free, cuMemAddressFree, (Pointer, std::size_t))                                      \
  X(memory_map, cuMemMap, (Pointer, std::size_t, std::size_t, MemoryHandle, unsigned long long))   \
  X(memory_unmap, cuMemUnmap, (Pointer, std::size_t))                                              \
  X(memory_access, cuMemSetAccess, (Pointer, std::size_t, const MemoryAccess*, std::size_t))       \
  X(pointer_attribute, cuPointerGetAttribute, (void*, int, Pointer))                               \
  X(pool_export, cuMemPoolExportToShareableHandle, (void*, MemoryHandle, int, unsigned long long)) \
  X(pool_import, cuMemPoolImportFromShareableHandle,                                               \
    (MemoryHandle*, void*, int, unsigned long long))                                               \
  X(pool_destroy, cuMemPoolDestroy, (MemoryHandle))                                                \
  X(pool_access, cuMemPoolSetAccess, (MemoryHandle, const MemoryAccess*, std::size_t))             \
  X(pool_export_pointer, cuMemPoolExportPointer, (IpcHandle*, Pointer))                            \
  X(pool_import_pointer, cuMemPoolImportPointer, (Pointer*, MemoryHandle, const IpcHandle*))       \
  X(module_load, cuModuleLoadData, (Module*, const void*))                                         \
  X(module_unload, cuModuleUnload, (Module))                                                       \
  X(module_function, cuModuleGetFunction, (Function*, Module, const char*))                        \
  X(launch, cuLaunchKernel,                                                                        \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,       \
     void**, void**))                                                                              \
  X(launch_with, cuLaunchKernelEx, (const LaunchConfig*, Function, void**, void**))                \
  X(memory_copy, cuMemcpyAsync, (Pointer, Pointer, std::size_t, Stream))                           \
  X(memory_copy_peer, cuMemcpyPeerAsync,                                                           \
    (Pointer, Context, Pointer, Context, std::size_t, Stream))                                     \
  X(memory_set_later, cuMemsetD8Async, (Pointer, unsigned char, std::size_t, Stream))              \
  X(memory_write, cuMemcpyHtoD_v2, (Pointer, const void*, std::size_t))                            \
  X(memory_read, cuMemcpyDtoH_v2, (void*, Pointer, std::size_t))                                   \
  X(stream_create, cuStreamCreate, (Stream*, unsigned))                                            \
  X(stream_destroy, cuStreamDestroy_v2, (Stream))                                                  \
  X(event_create, cuEventCreate, (Event*, unsigned))                                               \
  X(event_destroy, cuEventDestroy_v2, (Event))                                                     \
  X(event_record, cuEventRecord, (Event, Stream))                                                  \
  X(event_elapsed, cuEventElapsedTime, (float*, Event, Event))                                     \
  X(event_query, cuEventQuery, (Event))                                                            \
  X(stream_query, cuStreamQuery, (Stream))                                                         \
  X(stream_wait, cuStreamWaitEvent, (Stream, Event, unsigned))                                     \
  X(stream_capture, cuStreamBeginCapture_v2, (Stream, int))                                        \
  X(stream_captured, cuStreamEndCapture, (Stream, Graph*))                                         \
  X(capture_info, cuStreamGetCaptureInfo_v2,                                                       \
    (Stream, int*, std::uint64_t*, Graph*, const GraphNode**, std::size_t*))                       \
  X(graph_record, cuGraphAddEventRecordNode,                                                       \
    (GraphNode*, Graph, const GraphNode*, std::size_t, Event))                                     \
  X(graph_depend, cuGraphAddDependencies,                                                          \
    (Graph, const GraphNode*, const GraphNode*, std::size_t))                                      \
  X(graph_release, cuGraphRemoveDependencies,                                                      \
    (Graph, const GraphNode*, const GraphNode*, std::size_t))                                      \
  X(graph_prepare, cuGraphInstantiateWithFlags, (GraphRun*, Graph, unsigned long long))            \
  X(graph_launch, cuGraphLaunch, (GraphRun, Stream))                                               \
  X(graph_run_destroy, cuGraphExecDestroy, (GraphRun))                                             \
  X(graph_destroy, cuGraphDestroy, (Graph))

// The same of multicast objects; the members are null before CUDA 12.1.
#define RAILGAUGE_CUDA_MULTICAST_FUNCTIONS(X)                                                \
  X(multicast_create, cuMulticastCreate, (MemoryHandle*, const MulticastProperties*))        \
  X(multicast_add, cuMulticastAddDevice, (MemoryHandle, Device))                             \
  X(multicast_bind, cuMulticastBindMem,                                                      \
    (MemoryHandle, std::size_t, MemoryHandle, std::size_t, std::size_t, unsigned long long)) \
  X(multicast_unbind, cuMulticastUnbind, (MemoryHandle, Device, std::size_t, std::size_t))

class Driver {
 public:
  // The driver of this process; Error (kSystem) if there is none, or it lacks a function.
  static const Driver& get();

#define RAILGAUGE_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  RAILGAUGE_CUDA_FUNCTIONS(RAILGAUGE_CUDA_MEMBER)
  RAILGAUGE_CUDA_MULTICAST_FUNCTIONS(RAILGAUGE_CUDA_MEMBER)
#undef RAILGAUGE_CUDA_MEMBER
  Result (*context_event)(Context, Event) = nullptr;  // cuCtxRecordEvent; null before CUDA 12.5
  // cuMemGetHandleForAddressRange; null before CUDA 11.7
  Result (*memory_handle)(void*, Pointer, std::size_t, int, unsigned long long) = nullptr;
  bool brings_kernels = false;  // all that this library has: a simulated one's (tests/gpu)

  // Throws Error unless a call succeeded; `what` names the step.
  void check(Result result, const std::string& what) const;

 private:
  Driver();
};

// A device's primary context, which the runtime and PyTorch use too, current on this thread.
class Current {
 public:
  explicit Current(Context context) {
    Driver::get().check(Driver::get().context_push(context), "making a GPU current");
  }
  ~Current() {
    Context popped;
    Driver::get().context_pop(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

}  // namespace railgauge::cuda
