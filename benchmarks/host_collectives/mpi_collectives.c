// SPDX-License-Identifier: Apache-2.0
// Times an MPI collective on float32: mpi_collectives COLLECTIVE COUNT ITERATIONS WARMUP, the
// numbers as often as there are sizes.
//
// Out of place, then in place: warm-up, barrier, one loop of ITERATIONS; the slowest rank's mean
// counts. Afterwards one more operation on fresh data is compared with what it should give, every
// element on every rank. Rank 0 prints a JSON line for each size. The buffers ask for huge pages,
// as numpy's large arrays do, so that no program here owes its figures to the pages of its data.
// BENCH_FLIP in the environment damages one element before the comparison.
#define _DEFAULT_SOURCE
#include "collectives.h"
#include "private_memory.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kPeriod = 251 };

static const struct collective* what;
static int rank, ranks, count;

// One call of each, in the order of kCollectives; either buffer may be MPI_IN_PLACE where MPI has
// it.
static void all_reduce(const void* in, void* out) {
  MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void all_gather(const void* in, void* out) {
  MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
}
static void reduce_scatter(const void* in, void* out) {
  MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void broadcast(const void* in, void* out) {
  (void)in;
  MPI_Bcast(out, count, MPI_FLOAT, kRoot, MPI_COMM_WORLD);
}
static void reduce(const void* in, void* out) {
  MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, kRoot, MPI_COMM_WORLD);
}
static void all_to_all(const void* in, void* out) {
  MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
}
static void gather(const void* in, void* out) {
  MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, kRoot, MPI_COMM_WORLD);
}
static void scatter(const void* in, void* out) {
  MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, kRoot, MPI_COMM_WORLD);
}
static void (*const kCalls[])(const void*, void*) = {
    all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter};
static void (*call)(const void*, void*);

// Where a rank's input lies in the buffer that it works in: a gathered piece is at its place.
static float* input_within(float* data) {
  return what->output_per_rank && !what->input_per_rank ? data + (size_t)rank * count : data;
}

static void call_in_place(float* data) {
  bool root = rank == kRoot;
  if (what->input_at_root && what->input_per_rank)
    root ? call(data, MPI_IN_PLACE) : call(NULL, data);
  else if (what->output_at_root && !root)
    call(input_within(data), NULL);
  else
    call(MPI_IN_PLACE, data);
}

// What a rank contributes at index i: a small integer, so that sums are exact and no element
// equals its neighbour.
static float value(int from, size_t i) { return (float)((i + 17 * (size_t)from) % kPeriod + 1); }

static void fill(float* data) {
  size_t size = input_size(what, count, rank, ranks);
  for (size_t i = 0; i < size; ++i) data[i] = value(rank, i);
}

static float expected(size_t i) {
  size_t piece = i / count, at = i % count + (what->input_per_rank ? (size_t)rank * count : 0);
  if (!what->sums) return value(what->output_per_rank ? (int)piece : kRoot, at);
  float sum = 0;
  for (int from = 0; from < ranks; ++from) sum += value(from, at);
  return sum;
}

static long wrong(float* data) {
  size_t size = output_size(what, count, rank, ranks);
  if (size && getenv("BENCH_FLIP")) data[size - 1] += 1;
  long bad = 0;
  for (size_t i = 0; i < size; ++i) bad += !(data[i] == expected(i));
  return bad;
}

static void repeat(const float* in, float* out, int times) {
  for (int i = 0; i < times; ++i) in ? call(in, out) : call_in_place(out);
}

static double slowest_us(const float* in, float* out, int iterations, int warmup) {
  repeat(in, out, warmup);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  repeat(in, out, iterations);
  double mine = (MPI_Wtime() - start) / iterations * 1e6, most;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

// One size; its buffers stay, so that none is at an address that was registered with a device
// before.
static void measure(int iterations, int warmup) {
  size_t floats = (size_t)count * (what->input_per_rank || what->output_per_rank ? ranks : 1);
  float *in = private_memory(floats), *out = private_memory(floats);
  bool apart = strcmp(what->name, "broadcast");  // MPI's has one buffer
  double out_of_place = 0;
  long bad = 0;

  if (apart) {
    fill(in);
    out_of_place = slowest_us(in, out, iterations, warmup);
    memset(out, 0xff, floats * sizeof(float));
    call(in, out);
    bad += wrong(out);
  }
  memset(out, 0,
         floats * sizeof(float));  // sums of zeros stay finite however often they are summed
  double in_place = slowest_us(NULL, out, iterations, warmup);
  memset(out, 0xff, floats * sizeof(float));
  fill(input_within(out));
  call_in_place(out);
  bad += wrong(out);

  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    char apart_us[32] = "null";
    if (apart) snprintf(apart_us, sizeof apart_us, "%.6f", out_of_place);
    printf("{\"ranks\": %d, \"out_of_place_us\": %s, \"in_place_us\": %.6f, \"wrong\": %ld}\n",
           ranks, apart_us, in_place, bad);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5 || argc % 3 != 2 || !(what = find_collective(argv[1]))) MPI_Abort(MPI_COMM_WORLD, 2);
  call = kCalls[what - kCollectives];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int at = 2; at < argc; at += 3) {
    count = atoi(argv[at]);
    measure(atoi(argv[at + 1]), atoi(argv[at + 2]));
  }
  MPI_Finalize();
  return 0;
}
