// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/fatbins.h"

#include "transports/native/cuda/driver.h"

#ifdef RAILGAUGE_FATBINS  // the folder that has them

#define RAILGAUGE_FATBIN(name)                                                   \
  __asm__(".section .rodata\n.balign 64\nrailgauge_fatbin_" #name                \
          ":\n.incbin \"" RAILGAUGE_FATBINS "/" #name ".fatbin\"\n.previous\n"); \
  extern "C" const char railgauge_fatbin_##name[];
RAILGAUGE_FATBIN(half)
RAILGAUGE_FATBIN(bfloat16)
RAILGAUGE_FATBIN(float)
RAILGAUGE_FATBIN(double)
RAILGAUGE_FATBIN(int8)
RAILGAUGE_FATBIN(uint8)
RAILGAUGE_FATBIN(int32)
RAILGAUGE_FATBIN(uint32)
RAILGAUGE_FATBIN(int64)
RAILGAUGE_FATBIN(uint64)
RAILGAUGE_FATBIN(f8e4m3)
RAILGAUGE_FATBIN(f8e5m2)
RAILGAUGE_FATBIN(copy)
RAILGAUGE_FATBIN(patterns)

namespace railgauge::gpu {

const void* fatbin(Dtype dtype) {
  static const void* const all[kDtypes] = {
      railgauge_fatbin_half,   railgauge_fatbin_bfloat16, railgauge_fatbin_float,
      railgauge_fatbin_double, railgauge_fatbin_int8,     railgauge_fatbin_uint8,
      railgauge_fatbin_int32,  railgauge_fatbin_uint32,   railgauge_fatbin_int64,
      railgauge_fatbin_uint64, railgauge_fatbin_f8e4m3,   railgauge_fatbin_f8e5m2};
  return all[static_cast<int>(dtype)];
}

const void* copy_fatbin() { return railgauge_fatbin_copy; }
const void* pattern_fatbin() { return railgauge_fatbin_patterns; }

}  // namespace railgauge::gpu

#else

namespace railgauge::gpu {

namespace {

// In place of images, for a driver that has the kernels: which are meant.
const char kPlaces[kDtypes + 2] = {};

const void* place(int number) {
  return cuda::Driver::get().brings_kernels ? kPlaces + number : nullptr;
}

}  // namespace

const void* fatbin(Dtype dtype) { return place(static_cast<int>(dtype)); }
const void* copy_fatbin() { return place(kDtypes); }
const void* pattern_fatbin() { return place(kDtypes + 1); }

}  // namespace railgauge::gpu

#endif
