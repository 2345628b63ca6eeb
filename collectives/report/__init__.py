# SPDX-License-Identifier: Apache-2.0
"""A run's result as a picture, a page and a table: bus bandwidth over size."""
