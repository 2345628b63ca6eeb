# SPDX-License-Identifier: Apache-2.0
"""Times of collectives from planned channels: which algorithm and protocol, how long, and what limits.

plan.py holds what counts of a machine's channels, nccl_model.py chooses as NCCL does, passing.py tells what
the channels pass on (load.py: links; network.py: the fabric), cost.py the time (direct exchanges: pairs.py), limit.py
what limits, slow_links.py what a plan counts on in vain. forecast.py makes the rows, comparison.py compares.
forecast.py takes another model than NCCL's: our engine's is in collectives/cost.
"""
