// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/fatbins.h"

#include "transports/native/cuda/driver.h"
#include "transports/native/error.h"

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
RAILGAUGE_FATBIN(messages)
RAILGAUGE_FATBIN(nvls)
RAILGAUGE_FATBIN(patterns)

namespace railgauge::gpu {

namespace {

const void* image_of(Dtype dtype) {
  static const void* const all[kDtypes] = {
      railgauge_fatbin_half,   railgauge_fatbin_bfloat16, railgauge_fatbin_float,
      railgauge_fatbin_double, railgauge_fatbin_int8,     railgauge_fatbin_uint8,
      railgauge_fatbin_int32,  railgauge_fatbin_uint32,   railgauge_fatbin_int64,
      railgauge_fatbin_uint64, railgauge_fatbin_f8e4m3,   railgauge_fatbin_f8e5m2};
  return all[static_cast<int>(dtype)];
}

const void* const kCopies = railgauge_fatbin_copy;
const void* const kMessages = railgauge_fatbin_messages;
const void* const kNvls = railgauge_fatbin_nvls;
const void* const kPatterns = railgauge_fatbin_patterns;

bool driver_brings_kernels() {
  try {
    return cuda::Driver::get().brings_kernels;
  } catch (const Error&) {  // no driver: the kernels are there all the same
    return false;
  }
}

}  // namespace

}  // namespace railgauge::gpu

#else

namespace railgauge::gpu {

namespace {

const void* image_of(Dtype) { return nullptr; }

const void* const kCopies = nullptr;
const void* const kMessages = nullptr;
const void* const kNvls = nullptr;
const void* const kPatterns = nullptr;

bool driver_brings_kernels() { return cuda::Driver::get().brings_kernels; }

}  // namespace

}  // namespace railgauge::gpu

#endif

namespace railgauge::gpu {

namespace {

// A driver that has the kernels itself takes the name of what is meant in place of its image.
const void* named(const char* name, const void* image) {
  return driver_brings_kernels() ? name : image;
}

}  // namespace

const void* fatbin(Dtype dtype) { return named(dtype_name(dtype), image_of(dtype)); }
const void* copy_fatbin() { return named("", kCopies); }
const void* message_fatbin() { return named("", kMessages); }
const void* nvls_fatbin() { return named("", kNvls); }
const void* pattern_fatbin() { return named("", kPatterns); }

}  // namespace railgauge::gpu
