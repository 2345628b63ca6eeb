# SPDX-License-Identifier: Apache-2.0
"""The constants of the engine's own cost models, from measurements: of ranks on host memory (host_cost.py) and of GPUs
(gpu_cost.py). docs/how-it-works/tuning.md has the errors on GPUs.
"""

from railgauge.topo.nccl.settings.algorithm import Protocol

# Ranks on host memory, railgauge's own engine: set by hand on `python -m benchmarks.predict.host` with 2 ranks on a VM
# of 2 cores (AMD EPYC Turin), the least of four runs, whose samples were not kept.
HOST_STEP_US = 0.1  # from one core to another: 8 B by one-shot take 0.11, by two-shot 0.17
HOST_WIRE_US = 0.1  # before the first step of an operation on a connection: 0.22 for one step, 0.35 for two
HOST_SHORT_BYTES = 40  # of a message in one cache line: kShort in transports/native/shm/shared_segment.h
HOST_MESSAGE_US = 0.02  # each further message of another rank that is read; assumed
HOST_SWITCH_US = 5.0  # a step where ranks share cores, for each that does: one sleeps, the next wakes
HOST_NET_STEP_US = 20.0  # a step over TCP
# A step over RDMA; assumed: ib_write_lat shows 1 to 1.5 us of NICs of 100 Gb/s and more.
HOST_RDMA_STEP_US = 2.0
# What a core sends through sockets while it receives as much: an all_reduce of 1 MiB between 2 ranks over loopback.
HOST_SOCKET_GB_PER_S = 4.7
# How much longer an exchange over sockets takes whose ends send and take slots in turn, as in an all_reduce by
# recursive doubling: a ring took 0.63 to 0.87 of its time, 0.70 in the mean of 256 KiB to 4 MiB, between two hosts.
HOST_IN_TURN = 0.4
# Shared segments pass 64 KiB at a time (collectives/connections.py), rings and pairs four times as much: they were 5 to
# 20% quicker from 512 KiB on, which is this much for each round after the first few.
HOST_PLACE_BYTES = 64 << 10  # of a shared segment: eight of these for each rank stay in a core's second-level cache
HOST_ROUND_US = 0.3
HOST_ROUNDS_HIDDEN = 4
HOST_GB_PER_S = 45.0  # what a core writes and reads together, within its caches
HOST_CACHE_BYTES = 4 << 20  # up to this size buffers stay in a cache: two ranks with two each in 32 MiB
HOST_MEMORY_GB_PER_S = 18.0  # larger data goes to memory and back

# GPUs that write into each other's memory, railgauge's own engine: set on all_reduce of 8 B to 1 GiB between 2 H200, by
# least squares of the logarithm of the time (`python -m benchmarks.predict.gpu`).
GPU_START_US = 2.1  # a kernel's start and end, one after the other in a CUDA graph
GPU_STEP_US = {Protocol.LL: 1.4, Protocol.LL128: 1.4, Protocol.SIMPLE: 5.8}  # of two GPUs over NVLink
# Of what links pass by NCCL's account (20.6 GB/s each): LL sends a flag with every 4 bytes, LL128 with every 120.
GPU_SHARE = {Protocol.LL: 0.408, Protocol.LL128: 0.84, Protocol.SIMPLE: 0.936}
