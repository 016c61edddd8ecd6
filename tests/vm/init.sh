#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The guest's first process: unpacks the payload (the second NVMe namespace, a tar) into the root file system, runs the
# payload's script for this boot, and executes systemd. So the generators and the earliest units of the same boot find
# the files of the test, on a root file system that is read-only again.

fail() {
    echo "hugeplan-vm-init: $1" >/dev/console
    exit 1
}

mount -t proc proc /proc || fail "no /proc"
mount -t devtmpfs devtmpfs /dev || fail "no /dev"
mount -t sysfs sysfs /sys || fail "no /sys"
# With the device, because mount would look it up in fstab otherwise, whose PARTUUID cannot be resolved before udev runs.
mount -o remount,rw /dev/root / || fail "the root file system stays read-only"

payload=
for device in /sys/block/nvme*; do
    if [ "$(cat "$device/nsid")" = 2 ]; then
        payload=/dev/${device##*/}
    fi
done
[ -n "$payload" ] || fail "no payload"
# In a scenario with a full disk, /filler fills it: it gives room for the payload, and takes the room that is left.
# Freed blocks can be used again once the journal of the file system has committed them.
if [ -e /filler ]; then
    truncate --size=-1M /filler && sync || fail "cannot make room for the payload"
fi
tar --extract --keep-directory-symlink --no-overwrite-dir --file "$payload" --directory / ||
    fail "cannot unpack the payload"
sh /vm/prepare || fail "cannot prepare the boot"
if [ -e /filler ]; then
    dd if=/dev/zero bs=4k oflag=append conv=notrunc of=/filler 2>/dev/null
    sync
fi

mount -o remount,ro /dev/root / || fail "the root file system stays writable"
umount /sys /proc
echo '{"event": "up"}' >/dev/ttyS1
exec /lib/systemd/systemd "$@"
