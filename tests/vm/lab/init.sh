#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The initramfs's /init: mounts the host's root file system read-only under a writable overlay, and goes there.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for module in $($b cat /modules/order); do $b insmod "/modules/$module" || echo "lab: insmod $module failed"; done
options=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o ro,$options,cache=loose host /ro || { echo "lab: no root file system"; $b reboot -f; }
$b mount -t tmpfs -o mode=755 tmpfs /rw
$b mkdir /rw/upper /rw/work
$b mount -t overlay -o lowerdir=/ro,upperdir=/rw/upper,workdir=/rw/work root /new
$b mount -t tmpfs tmpfs /new/run
$b mkdir -p /new/run/io /new/dev/shm
$b mount -t 9p -o $options,cache=none io /new/run/io
for folder in proc sys dev; do $b mount --move /$folder /new/$folder; done
exec $b switch_root /new /bin/sh /run/io/guest.sh
