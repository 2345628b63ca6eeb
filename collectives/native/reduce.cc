// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/reduce.h"

#include <cstring>

#include "collectives/native/reduce_table.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace railgauge {

namespace baseline {
void fill(ReduceTable& table);
}
#if defined(__x86_64__)
namespace avx2 {
void fill(ReduceTable& table);
}
namespace avx512 {
void fill(ReduceTable& table);
}
#endif

std::vector<ReduceTable> reduce_tables() {
  std::vector<ReduceTable> tables(1);
  baseline::fill(tables.back());
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    avx2::fill(tables.emplace_back());
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    avx512::fill(tables.emplace_back());
  }
#endif
  return tables;
}

CombineAll combine_all(Dtype dtype, Redop op) {
  static const ReduceTable table = reduce_tables().back();
  return table.combine[static_cast<int>(dtype)][static_cast<int>(op)];
}

#if defined(__x86_64__)

void stream_copy(void* out, const void* in, std::size_t bytes) {
  auto* o = static_cast<std::byte*>(out);
  auto* i = static_cast<const std::byte*>(in);
  std::size_t head = (16 - reinterpret_cast<std::uintptr_t>(o) % 16) % 16;
  if (head > bytes) head = bytes;
  std::memcpy(o, i, head);
  o += head, i += head, bytes -= head;
  for (; bytes >= 64; o += 64, i += 64, bytes -= 64) {
    __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(i));
    __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(i + 16));
    __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(i + 32));
    __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(i + 48));
    _mm_stream_si128(reinterpret_cast<__m128i*>(o), a);
    _mm_stream_si128(reinterpret_cast<__m128i*>(o + 16), b);
    _mm_stream_si128(reinterpret_cast<__m128i*>(o + 32), c);
    _mm_stream_si128(reinterpret_cast<__m128i*>(o + 48), d);
  }
  std::memcpy(o, i, bytes);
}

void stream_fence() { _mm_sfence(); }

#else

void stream_copy(void* out, const void* in, std::size_t bytes) { std::memcpy(out, in, bytes); }
void stream_fence() {}

#endif

}  // namespace railgauge
