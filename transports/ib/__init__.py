# SPDX-License-Identifier: Apache-2.0
"""NET/IB: which RDMA devices a rank uses, and the connections over them."""
