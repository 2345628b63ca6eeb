# SPDX-License-Identifier: Apache-2.0
# What each of two guests with two rails runs: railgauge between them over Soft-RoCE (net_ib.py).
modprobe -a sch_netem
eval "$START_SSHD"
PYTHONPATH=. exec "$PYTHON" -P tests/vm/in_guest/net_ib.py
