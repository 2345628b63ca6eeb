// SPDX-License-Identifier: Apache-2.0
// The limit that memory sets to a collective:
// memory_floor COLLECTIVE COUNT ITERATIONS WARMUP RANKS.
//
// Every rank's input is read once and its output written once, all cores at work together; no
// collective on data that does not stay in a cache can do less. Out of place, what is both read and
// written is a copy; in place an addition to what is there, and what lies at its place already is
// not written. Each the faster of cached and streaming stores. A thread per core does a rank's
// share, or those of several ranks one after the other where there are more ranks than cores;
// private buffers on huge pages; the slowest thread's mean counts.
#define _GNU_SOURCE
#include "collectives.h"
#include "private_memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { kBlock = 8 << 10, kLanes = 16 };

// A rank's share, in floats: read and written, only read, only written.
struct share {
  size_t both, reads, writes;
};

struct worker {
  pthread_t thread;
  int first, core;
};

static const struct collective* what;
static size_t count;
static int iterations, warmup, ranks, workers;
static pthread_barrier_t barrier;
static double slowest;
static long wrong;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static float block[kBlock];

static struct share share_of(int rank, bool in_place) {
  size_t in = input_size(what, count, rank, ranks), out = output_size(what, count, rank, ranks);
  bool exchanges = what->input_per_rank && what->output_per_rank;
  if (in_place && !what->sums && !exchanges) return (struct share){0, in, out > in ? out - in : 0};
  size_t both = in < out ? in : out;
  return (struct share){both, in - both, out - both};
}

static void copy(const float* in, float* out, size_t size, bool streaming) {
  size_t i = 0;
#ifdef __SSE2__
  if (streaming)
    for (; i + 4 <= size; i += 4) _mm_stream_ps(out + i, _mm_loadu_ps(in + i));
#endif
  memcpy(out + i, in + i, (size - i) * sizeof(float));
}

// From a block that stays in the cache.
static void write_only(float* out, size_t size, bool streaming) {
  for (size_t i = 0; i < size; i += kBlock)
    copy(block, out + i, size - i < kBlock ? size - i : kBlock, streaming);
}

static void add(float* out, size_t size) {
  for (size_t i = 0; i < size; ++i) out[i] += 1.0f;
}

static void read_only(const float* in, size_t size) {
  float sum[kLanes] = {0};
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) sum[lane] += in[i + lane];
  for (; i < size; ++i) sum[0] += in[i];
  for (int lane = 0; lane < kLanes; ++lane) __asm__ volatile("" : : "x"(sum[lane]));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void pass(float** in, float** out, int first, bool in_place, bool streaming) {
  for (int rank = first; rank < ranks; rank += workers) {
    struct share share = share_of(rank, in_place);
    float* from = in_place ? out[rank] : in[rank];
    if (in_place)
      add(out[rank], share.both);
    else
      copy(from, out[rank], share.both, streaming);
    read_only(from + share.both, share.reads);
    write_only(out[rank] + share.both + (in_place ? share.reads : 0), share.writes, streaming);
  }
#ifdef __SSE2__
  if (streaming) _mm_sfence();
#endif
  __asm__ volatile("" ::: "memory");  // each pass is made
}

static void measure(float** in, float** out, int first, bool in_place, bool streaming) {
  for (int i = 0; i < warmup; ++i) pass(in, out, first, in_place, streaming);
  pthread_barrier_wait(&barrier);
  double start = now();
  for (int i = 0; i < iterations; ++i) pass(in, out, first, in_place, streaming);
  double mean = (now() - start) / iterations;
  pthread_mutex_lock(&lock);
  if (mean > slowest) slowest = mean;
  pthread_mutex_unlock(&lock);
}

static void compare(float** in, float** out, int first) {
  for (int rank = first; rank < ranks; rank += workers) {
    size_t both = share_of(rank, false).both;
    if (both && getenv("BENCH_FLIP")) out[rank][both - 1] += 1;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < both; ++i) wrong += in[rank][i] != out[rank][i];
    pthread_mutex_unlock(&lock);
  }
}

static double best_us[2];  // out of place, in place

static void* work(void* argument) {
  const struct worker* self = argument;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(self->core, &set);
  sched_setaffinity(0, sizeof set, &set);
  float **in = calloc(ranks, sizeof *in), **out = calloc(ranks, sizeof *out);
  for (int rank = self->first; rank < ranks; rank += workers) {
    size_t reads = input_size(what, count, rank, ranks);
    size_t writes = output_size(what, count, rank, ranks);
    in[rank] = private_memory(reads), out[rank] = private_memory(reads + writes);
    for (size_t i = 0; i < reads; ++i) in[rank][i] = (float)(i % 251);
  }
  for (int turn = 0; turn < 4; ++turn) {
    bool in_place = turn / 2, streaming = turn % 2;
    measure(in, out, self->first, in_place, streaming);
    if (!in_place) compare(in, out, self->first);
    pthread_barrier_wait(&barrier);
    if (self->first == 0) {
      if (!streaming || slowest * 1e6 < best_us[in_place]) best_us[in_place] = slowest * 1e6;
      slowest = 0;
    }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 6 || !(what = find_collective(argv[1]))) return 2;
  count = strtoull(argv[2], NULL, 10);
  iterations = atoi(argv[3]), warmup = atoi(argv[4]), ranks = atoi(argv[5]);
  cpu_set_t usable;
  sched_getaffinity(0, sizeof usable, &usable);
  workers = ranks < CPU_COUNT(&usable) ? ranks : CPU_COUNT(&usable);
  struct worker* worker = calloc(workers, sizeof *worker);
  pthread_barrier_init(&barrier, NULL, workers);
  for (int core = 0, i = 0; i < workers; ++core)
    if (CPU_ISSET(core, &usable)) {
      worker[i] = (struct worker){.first = i, .core = core};
      pthread_create(&worker[i].thread, NULL, work, &worker[i]);
      ++i;
    }
  for (int i = 0; i < workers; ++i) pthread_join(worker[i].thread, NULL);
  printf("{\"ranks\": %d, \"out_of_place_us\": %.6f, \"in_place_us\": %.6f, \"wrong\": %ld}\n",
         ranks, best_us[0], best_us[1], wrong);
  return 0;
}
