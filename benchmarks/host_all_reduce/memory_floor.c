// SPDX-License-Identifier: Apache-2.0
// The limit that memory sets to a two-rank all-reduce: memory_floor BYTES ITERATIONS WARMUP RANKS.
//
// Each rank's core reads its input once and writes its output once, all at work together; no
// all-reduce of data that does not stay in a cache can do less. Out of place is a copy, the faster
// of cached and streaming stores; in place adds to what is there. One thread per core, private
// buffers on huge pages; the slowest thread's mean counts.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { kHugePage = 2 << 20, kMoves = 3 };

static size_t count;
static int iterations, warmup;
static pthread_barrier_t barrier;
static double slowest[kMoves];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void copy(const float* in, float* out) { memcpy(out, in, count * sizeof(float)); }

static void stream(const float* in, float* out) {
#ifdef __SSE2__
  size_t i = 0;
  for (; i + 4 <= count; i += 4) _mm_stream_ps(out + i, _mm_loadu_ps(in + i));
  for (; i < count; ++i) out[i] = in[i];
  _mm_sfence();
#else
  copy(in, out);
#endif
}

static void add(const float* in, float* out) {
  (void)in;
  for (size_t i = 0; i < count; ++i) out[i] += 1.0f;
}

static void (*const kMove[kMoves])(const float*, float*) = {copy, stream, add};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static float* buffer(void) {
  size_t size = (count * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
  float* data = aligned_alloc(kHugePage, size);
  if (!data) exit(1);
  madvise(data, size, MADV_HUGEPAGE);
  memset(data, 0, size);
  return data;
}

static void repeat(void (*move)(const float*, float*), const float* in, float* out, int times) {
  for (int i = 0; i < times; ++i) {
    move(in, out);
    __asm__ volatile("" ::: "memory");  // each pass is made
  }
}

static void* rank_main(void* core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)core, &set);
  sched_setaffinity(0, sizeof set, &set);
  float *in = buffer(), *out = buffer();
  for (size_t i = 0; i < count; ++i) in[i] = (float)(i % 251);
  for (int move = 0; move < kMoves; ++move) {
    repeat(kMove[move], in, out, warmup);
    pthread_barrier_wait(&barrier);
    double start = now();
    repeat(kMove[move], in, out, iterations);
    double mean = (now() - start) / iterations;
    if (kMove[move] != add && memcmp(in, out, count * sizeof(float))) exit(4);
    pthread_mutex_lock(&lock);
    if (mean > slowest[move]) slowest[move] = mean;
    pthread_mutex_unlock(&lock);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  count = strtoull(argv[1], NULL, 10) / sizeof(float);
  iterations = atoi(argv[2]);
  warmup = atoi(argv[3]);
  size_t ranks = strtoull(argv[4], NULL, 10), started = 0;
  cpu_set_t usable;
  sched_getaffinity(0, sizeof usable, &usable);
  if (ranks == 0 || ranks > (size_t)CPU_COUNT(&usable))
    return 3;  // with less than a core each it would be no limit
  pthread_t* threads = calloc(ranks, sizeof *threads);
  pthread_barrier_init(&barrier, NULL, ranks);
  for (size_t core = 0; started < ranks; ++core)
    if (CPU_ISSET(core, &usable)) pthread_create(&threads[started++], NULL, rank_main, (void*)core);
  for (size_t i = 0; i < ranks; ++i) pthread_join(threads[i], NULL);
  double copied = slowest[0] < slowest[1] ? slowest[0] : slowest[1];
  printf("{\"ranks\": %zu, \"out_of_place_us\": %.6f, \"in_place_us\": %.6f, \"wrong\": 0}\n",
         ranks, copied * 1e6, slowest[2] * 1e6);
  return 0;
}
