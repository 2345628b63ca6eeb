# SPDX-License-Identifier: Apache-2.0
"""Constants that calibrate NCCL's model with measured results.

They are fitted to the lines of benchmarks/predict/measured.jsonl marked "calibration" (4 x H200, 8 x A100, and 2 x H200
with few channels, each on one node) by least squares of the logarithm of the time. NCCL chooses by its own figures;
these turn them into times. docs/how-it-works/predict.md has the error on the lines that were held out.
"""

from railgauge.topo.nccl.settings.algorithm import Protocol

LAUNCH_US = 0.5  # per operation of one GPU, beyond NCCL's base latency
LAUNCH_NEXT_US = 3.7  # each further GPU that the same thread launches on (8 x A100: 26 us for 7)
STEP_SCALE = {Protocol.LL: 1.05, Protocol.LL128: 1.2, Protocol.SIMPLE: 1.25}  # factor on NCCL's latencies
EFFICIENCY = {Protocol.LL: 1.0, Protocol.LL128: 0.97, Protocol.SIMPLE: 0.97}  # factor on NCCL's bandwidths
# Throughput of one channel if few run. Between 2 H200 14 passed 253 GB/s, between 4 of them 16 passed 319, of
# which EFFICIENCY is a part; other GPUs are assumed equal.
CHANNEL_GB_PER_S = 19.5
PAIR_EFFICIENCY = 0.935  # of a GPU's links in an all-to-all (8 x A100, 8 GiB: 224 of 240 GB/s)
PAIR_US = 8.4  # before the first message of an exchange in pairs: NCCL's Simple base latency
PEER_US = 7.4  # each peer of an exchange in pairs (8 x A100: 87 us for 7 peers, launches taken off)
# NVLS, by generation (2 Hopper, 3 Blackwell) where two figures stand: fitted to the all_reduce tables of one node in
# the half of benchmarks/predict/published that sets constants (8 x H200 with NCCL 2.29.2; 8 x B200 with 2.27.5 to 2.29.2).
NVLS_EFFICIENCY = {2: 0.833, 3: 0.675}  # of the links between GPUs and NVSwitches
NVLS_US = {2: 6.0, 3: 18.0}  # before the first round
NVLS_ROUNDS = 2.3  # of chunks on all channels and heads, which fill the pipeline
NVLS_NET_US = 10.0  # a step between nodes and back
NVLS_NET_EFFICIENCY = 0.93
NVLS_CHUNK_SHARE = {16 << 10: 0.54, 32 << 10: 0.74}  # of the bandwidth with chunks of so many bytes
