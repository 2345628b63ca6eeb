// SPDX-License-Identifier: Apache-2.0
// What the process of a job has: a driver with one GPU, and a release of NCCL.
#pragma once

extern "C" {
extern const char* fake_gpu_name;  // null: no context
extern int fake_nccl_version;
}
