# SPDX-License-Identifier: Apache-2.0
"""NCCL's topology XML: elements, their text, the topology file."""
