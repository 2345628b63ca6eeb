# SPDX-License-Identifier: Apache-2.0
"""Traffic over the links of a host: counters at two times, compared with the plan."""
