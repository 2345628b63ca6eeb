# SPDX-License-Identifier: Apache-2.0
"""How long tests wait. No assertion compares with a time: a busy machine takes any."""

FAR_S = 600.0
"""A timeout beyond pytest's own (pyproject.toml): what ends at all under it was not ended by it."""
HANGS_AFTER_S = 240.0
"""What has not come by then never does; it only ends a test that would hang."""
