# SPDX-License-Identifier: Apache-2.0
"""Findings: detectors, each of one fault, over a machine, a file, a cluster, traffic or settings."""
