# SPDX-License-Identifier: Apache-2.0
"""What passes the links of a host: counters at two times, and what was planned beside what they saw."""
