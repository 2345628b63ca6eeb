# SPDX-License-Identifier: Apache-2.0
# What each of two guests runs: a capture, then an RDMA ping-pong between them; rank 1 calls until rank 0 listens.
"$PYTHON" -m railgauge topo capture -o /run/io/node.tar.zst || exit
pingpong() { timeout 30 ibv_rc_pingpong -d rxe0 -g 1 -n 100 -e "$@" > /run/io/pingpong 2>&1; }
if [ "$RANK" = 0 ]; then
    timeout 120 ibv_rc_pingpong -d rxe0 -g 1 -n 100 -e > /run/io/pingpong 2>&1
else
    for _ in $(seq 60); do
        pingpong 10.77.0.1 && exit
        sleep 0.5
    done
    exit 1
fi
