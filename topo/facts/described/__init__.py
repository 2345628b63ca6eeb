# SPDX-License-Identifier: Apache-2.0
"""A machine described by hand: machine.toml (docs/fixtures.md) becomes the capture that it would have given."""
