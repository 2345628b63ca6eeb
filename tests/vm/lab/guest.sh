# SPDX-License-Identifier: Apache-2.0
# Process 1 of a guest: brings up its NICs as rail0, rail1... with Soft-RoCE on each, runs /run/io/job and stops.
. /run/io/env
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
# What the kernel loads by itself (rxe asks for crc32) it looks for below /lib/modules alone.
mkdir -p /lib/modules
mount --bind "$LAB_MODULES" /lib/modules
ulimit -l unlimited
echo "guest$RANK" > /proc/sys/kernel/hostname
ip link set lo up
modprobe -a virtio_net e1000e rdma_rxe rdma_ucm
for rail in $RAILS; do
    for link in /sys/class/net/*; do
        [ "$(cat "$link/address")" = "52:54:00:77:0$rail:0$RANK" ] || continue
        ip link set "${link##*/}" name "rail$rail"
        ip addr add "10.77.$rail.$((RANK + 1))/24" dev "rail$rail"
        ip link set "rail$rail" up
        rdma link add "rxe$rail" type rxe netdev "rail$rail"
        break
    done
done
for rail in $RAILS; do # e1000e takes seconds to find its link
    tries=0
    until grep -q ACTIVE "/sys/class/infiniband/rxe$rail/ports/1/state" || [ $tries -ge 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
done
( cd "$LAB_FOLDER" && . /run/io/job ) > /run/io/log 2>&1 < /dev/null
echo $? > /run/io/status
sync
echo b > /proc/sysrq-trigger
sleep 60
