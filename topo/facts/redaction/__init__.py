# SPDX-License-Identifier: Apache-2.0
"""What is left out of a capture or replaced in it before it leaves the site."""
