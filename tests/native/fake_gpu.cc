// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 with as much as the plugin of NCCL asks for; NCCL's release is in it too.
#include "tests/native/fake_gpu.h"

#include <cstdio>

extern "C" {

const char* fake_gpu_name = "fake GPU";
int fake_nccl_version = 22809;

int cuCtxGetDevice(int* device) {
  *device = 0;
  return fake_gpu_name ? 0 : 201;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, bytes, "%s", fake_gpu_name);
  return 0;
}
int ncclGetVersion(int* version) {
  *version = fake_nccl_version;
  return 0;
}
}
