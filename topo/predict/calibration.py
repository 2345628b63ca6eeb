# SPDX-License-Identifier: Apache-2.0
"""Constants that calibrate NCCL's model with measured results.

They are fitted to the lines of benchmarks/predict/measured.jsonl marked "calibration" (4 x H200, 8 x A100, and 2 x H200
with few channels, each on one node) by least squares of the logarithm of the time. NCCL chooses by its own figures;
these turn them into times. docs/how-it-works/predict.md has the error on the lines that were held out.
"""

from railgauge.topo.nccl.settings.algorithm import Protocol

LAUNCH_US = 0.5  # per operation of one GPU, beyond NCCL's base latency
LAUNCH_NEXT_US = 3.7  # each further GPU that the same thread launches on (8 x A100: 26 us for 7)
# By protocol and generation (Volta and older, Ampere, Hopper, Blackwell).
STEP_SCALE = {  # factor on NCCL's latencies
    Protocol.LL: (1.05, 1.05, 1.05, 1.55),
    Protocol.LL128: (1.2, 1.3, 1.1, 1.05),
    Protocol.SIMPLE: (1.25, 1.4, 1.2, 2.0),
}
EFFICIENCY = {  # factor on NCCL's bandwidths
    Protocol.LL: (1.0, 0.9, 1.0, 1.0),
    Protocol.LL128: (0.97, 0.92, 0.95, 0.87),
    Protocol.SIMPLE: (0.97, 0.96, 0.97, 0.94),
}
# Throughput of one channel if few run. Between 2 H200 14 passed 253 GB/s, between 4 of them 16 passed 319, of
# which EFFICIENCY is a part; other GPUs are assumed equal.
CHANNEL_GB_PER_S = 19.5
# Symmetric windows, fitted to 4 x H200 from 128 KiB on (benchmarks/gpu_vs_nccl); other GPUs are assumed equal.
SYMMETRIC_EFFICIENCY = 0.8  # of a GPU's links
SYMMETRIC_SCALE = {True: 1.2, False: 0.9}  # factor on NCCL's latencies of loads and stores: all_reduce, others
PAIR_EFFICIENCY = (0.935, 0.935, 0.85, 0.72)  # of a GPU's links in an all-to-all, by generation
PAIR_NET_EFFICIENCY = 0.935  # of the ways to NICs
PAIR_US = 8.0  # before the first message of an exchange in pairs
PEER_US = 0.7  # each peer of each GPU that the thread drives: it enqueues the messages one by one
# NVLS, by generation (2 Hopper, 3 Blackwell) where two figures stand.
NVLS_EFFICIENCY = {2: 0.833, 3: 0.65}  # of the links between GPUs and NVSwitches
NVLS_US = {2: 6.0, 3: 17.0}  # before the first round
NVLS_ROUNDS = 2.3  # of chunks on all channels and heads, which fill the pipeline
NVLS_CHUNK_SHARE = {16 << 10: 0.54, 32 << 10: 0.76}  # of the bandwidth with chunks of so many bytes
NVLS_TREE_EFFICIENCY = 0.9  # on several nodes beside
NVLS_TREE_ROUNDS = 3.7
NVLS_NET_US = 20.0  # a step between nodes
NVLS_NET_EFFICIENCY = 0.93  # of the ways to NICs
