# SPDX-License-Identifier: Apache-2.0
"""A machine described by hand: machine.toml (docs/reference/fixtures.md) becomes the capture it would have given."""
