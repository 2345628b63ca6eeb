# SPDX-License-Identifier: Apache-2.0
"""Times of collectives from planned channels: which algorithm and protocol, how long, and what limits.

plan.py describes a machine's channels, nccl_model.py chooses as NCCL does, passing.py gives the throughput of the
channels (load.py: links; network.py: the fabric), cost.py the time (direct exchanges: pairs.py), limit.py the
bottleneck. forecast.py makes the rows, comparison.py compares.
forecast.py accepts other models than NCCL's: that of our engine is in collectives/cost. search.py searches the channels
and holds the best against NCCL's in these terms, pick.py the GPUs for a job.
"""
