# SPDX-License-Identifier: Apache-2.0
"""The operations that a job called, read from its traces."""
