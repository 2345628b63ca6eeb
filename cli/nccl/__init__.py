# SPDX-License-Identifier: Apache-2.0
"""railgauge nccl: beside stock NCCL in a running job."""
