# SPDX-License-Identifier: Apache-2.0
"""The command line: it parses, calls and renders. One file per subcommand."""
