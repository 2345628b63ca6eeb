# SPDX-License-Identifier: Apache-2.0
# What the guest of one node runs. The scan without NVML is a process of its own: LD_LIBRARY_PATH is read when one starts.
{
    env -u LD_LIBRARY_PATH "$PYTHON" -m railgauge topo dump > /run/io/no_nvml.out 2> /run/io/no_nvml.err
    echo $? > /run/io/no_nvml.status
} &
PYTHONPATH=. "$PYTHON" -P tests/vm/in_guest/node.py && wait
