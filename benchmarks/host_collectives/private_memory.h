// SPDX-License-Identifier: Apache-2.0
// The buffers of every program: what `railgauge run` takes (own_memory in collectives/measure.py),
// page for page. The kernel finds huge pages for those of 2 MiB and more.
#pragma once
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static float* private_memory(size_t floats) {
  size_t size = floats ? floats * sizeof(float) : 1;
  void* data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) exit(1);
  madvise(data, size, MADV_HUGEPAGE);
  memset(data, 0, size);  // a page of its own, not the kernel's page of zeros
  return data;
}
