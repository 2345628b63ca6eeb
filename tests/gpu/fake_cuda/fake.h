// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without GPUs: memory of the host stands for theirs, threads for their streams.
// What driver.h lists and nothing here does is answered with "not supported".
//
// The environment says what there is:
//   NVML_GPUS             bus ids, separated by spaces; a fake NVML has the same (tests/vm)
//   NVML_FABRIC           the NVLink domain of all of them, likewise; without it none
//   CUDA_VISIBLE_DEVICES  as CUDA reads it
//   FAKE_CUDA_BYTES       the memory of each GPU
//   FAKE_CUDA_FAULTS      separated by spaces: FUNCTION=RESULT, or FUNCTION@GPU=RESULT where that
//                         GPU alone has it (as NVML counts); cuLaunchKernel=hang: kernels that
//                         never end; launch:push=hang: those of that name; launch:push=late: all
//                         of them but the first; cuMemcpyDtoH_v2=corrupt, launch:copy=corrupt: a
//                         byte of what it copies is another; cuMemCreate:fabric=800 and the same
//                         of export and import: what has fabric handles alone
//   FAKE_CUDA_PROCESSORS  how many each GPU has, separated by spaces; 16
//   FAKE_CUDA_LAUNCHES    a file that gets a line of each launch: GPU, kernel, blocks,
//                         how much was on the stream
//   FAKE_CUDA_HANG        kernels that never end do once there is no such file
#pragma once

#include <functional>
#include <string>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101,
                        kInvalidContext = 201, kPeerUnsupported = 217, kInvalidHandle = 400,
                        kNotFound = 500, kNotReady = 600, kPeerAlreadyEnabled = 704,
                        kAlreadyRegistered = 712, kNotRegistered = 713, kNotPermitted = 800,
                        kNotSupported = 801, kCaptureUnsupported = 900, kCaptureMerge = 902,
                        kCaptureUnmatched = 903, kCaptureUnjoined = 904, kCaptureIsolation = 905,
                        kCaptureImplicit = 906, kCapturedEvent = 907, kIllegalState = 401;
inline constexpr Result kHang = -1, kCorrupt = -2, kLate = -3;

#define RAILGAUGE_DECLARE(name, symbol, parameters) extern "C" Result symbol parameters;
RAILGAUGE_CUDA_FUNCTIONS(RAILGAUGE_DECLARE)
RAILGAUGE_CUDA_MULTICAST_FUNCTIONS(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE
extern "C" Result cuMemGetHandleForAddressRange(void*, Pointer, std::size_t, int,
                                                unsigned long long);

std::string setting(const char* name);

// What a function has to answer on a GPU (-1: the current one); 0 where no fault is asked for.
Result fault(const char* function, Device device = -1);
#define RAILGAUGE_FAULT(...) \
  if (const Result told = fault(__func__ __VA_OPT__(, ) __VA_ARGS__)) return told

// The context that is current on this thread; null: none.
Context current_context();
// A GPU's only context; null: there is no such GPU.
Context context_of(Device device);
Device device_of(Context context);

using Work = std::function<void()>;
// Put work on a stream, or into the graph that is captured there. Null: the current GPU's default
// stream.
Result put(Stream stream, Work work);
// How much is on a stream.
std::size_t under_way(Stream stream);
// Until nothing is under way on the current GPU's default stream.
Result wait_default();
// Until nothing is under way on a GPU.
void wait_idle(Context context);

}  // namespace railgauge::cuda
