# SPDX-License-Identifier: Apache-2.0
# What the guest of one node runs: every answer goes to /run/io as NAME.out, NAME.err and NAME.status.
keep() {
    local name=$1
    shift
    "$@" > "/run/io/$name.out" 2> "/run/io/$name.err"
    echo $? > "/run/io/$name.status"
}
railgauge() { "$PYTHON" -m railgauge "$@"; }
without_nvml() { env -u LD_LIBRARY_PATH "$PYTHON" -m railgauge "$@"; }
by_sockets() { NCCL_IB_DISABLE=1 railgauge "$@"; }

# Two at a time: there are two cores, and most of it is Python starting.
{
    keep dump railgauge topo dump
    keep sockets by_sockets topo dump
    keep no_nvml without_nvml topo dump
} &
{
    keep capture railgauge topo capture -o /run/io/node.tar.zst
    keep rdma railgauge topo show --view rdma --json
} &
wait
keep pyverbs /usr/bin/python3 -I topo/facts/sources/verbs_child.py
keep libibverbs /usr/bin/python3 -I topo/facts/sources/libibverbs_child.py
keep ibstat ibstat
keep ibv_devinfo ibv_devinfo -v
keep rdma_link rdma -j link
keep lstopo env HWLOC_COMPONENTS=linux,stop lstopo-no-graphics --of xml --whole-io -
keep coming_and_going "$PYTHON" -P tests/vm/in_guest/coming_and_going.py

# Gone for good. Soft-RoCE is taken off first: Linux 6.1 waits for ever for a netdev that still carries it.
rdma link delete "$NIC_RDMA"
echo 1 > "/sys/bus/pci/devices/$SWITCH/remove"
echo 1 > "/sys/bus/pci/devices/$NIC/remove"
keep without railgauge topo dump
