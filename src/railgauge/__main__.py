# SPDX-License-Identifier: Apache-2.0
"""`python -m railgauge` is the command line."""

from railgauge.cli.main import main

main()
