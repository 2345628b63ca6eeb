# SPDX-License-Identifier: Apache-2.0
"""The command line: parses arguments, calls the library, prints the answer. One file per subcommand."""
