# SPDX-License-Identifier: Apache-2.0
"""One file per form in which a fabric is described. Each adds what it reads to FabricParts."""
