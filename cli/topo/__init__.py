# SPDX-License-Identifier: Apache-2.0
"""railgauge topo: one file per subcommand; commands.py puts them together."""
