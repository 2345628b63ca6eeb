# SPDX-License-Identifier: Apache-2.0
"""Pictures of the model as text and JSON; each takes records and returns what to print."""
