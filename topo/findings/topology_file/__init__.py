# SPDX-License-Identifier: Apache-2.0
"""What is wrong in a topology file: one file per finding."""
