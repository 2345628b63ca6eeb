# SPDX-License-Identifier: Apache-2.0
"""The back end `railgauge` of torch.distributed; the one folder that imports torch. Use it as `railgauge.torch`."""
