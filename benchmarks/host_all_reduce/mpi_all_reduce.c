// SPDX-License-Identifier: Apache-2.0
// Times MPI_Allreduce of float32 sums: mpi_all_reduce BYTES ITERATIONS WARMUP.
//
// Out of place, then in place: warm-up, barrier, one loop of ITERATIONS; the slowest rank's mean
// counts. Afterwards one more operation on fresh data is compared with the expected sum, every
// element on every rank. Rank 0 prints one JSON line. The buffers ask for huge pages, as numpy's
// large arrays do, so that no program here owes its figures to the pages of its data.
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kHugePage = 2 << 20, kPeriod = 251 };

static float* buffer(size_t bytes) {
  size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  float* data = aligned_alloc(kHugePage, size);
  if (!data) MPI_Abort(MPI_COMM_WORLD, 1);
  madvise(data, size, MADV_HUGEPAGE);
  memset(data, 0, size);
  return data;
}

// What rank contributes at index i: a small integer, so that sums are exact and no element equals
// its neighbour.
static float value(int rank, int i) { return (float)((i + 17 * rank) % kPeriod + 1); }

static void fill(float* data, int count, int rank) {
  for (int i = 0; i < count; ++i) data[i] = value(rank, i);
}

static long wrong(const float* data, int count, int ranks) {
  long bad = 0;
  for (int i = 0; i < count; ++i) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += value(rank, i);
    bad += data[i] != sum;
  }
  return bad;
}

static double seconds(const void* in, void* out, int count, int iterations) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i)
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return MPI_Wtime() - start;
}

static double slowest_us(const void* in, void* out, int count, int iterations, int warmup) {
  seconds(in, out, count, warmup);
  double mine = seconds(in, out, count, iterations) / iterations * 1e6, most;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank, ranks, iterations = atoi(argv[2]), warmup = atoi(argv[3]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  size_t bytes = strtoull(argv[1], NULL, 10);
  int count = (int)(bytes / sizeof(float));
  float *in = buffer(bytes), *out = buffer(bytes);

  fill(in, count, rank);
  double out_of_place = slowest_us(in, out, count, iterations, warmup);
  memset(out, 0xff, bytes);
  MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  long bad = wrong(out, count, ranks);

  memset(out, 0, bytes);  // sums of zeros stay finite however often they are summed
  double in_place = slowest_us(MPI_IN_PLACE, out, count, iterations, warmup);
  fill(out, count, rank);
  MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  bad += wrong(out, count, ranks);

  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("{\"ranks\": %d, \"out_of_place_us\": %.6f, \"in_place_us\": %.6f, \"wrong\": %ld}\n",
           ranks, out_of_place, in_place, bad);
  MPI_Finalize();
  return 0;
}
