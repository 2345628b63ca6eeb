# SPDX-License-Identifier: Apache-2.0
"""What a collective costs on our own engine: on host memory (host_cost.py, host_choice.py) and on GPUs (gpu_cost.py).

host_forecast.py gives `graph predict` its rows for ranks on host memory. NCCL's model is in topo/predict.
"""
