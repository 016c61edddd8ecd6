#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The guest's first process: lays the payload (the second NVMe namespace, a tar) into the root file
# system, runs what the payload brings for this boot, and becomes systemd. So the generators and
# the earliest units of this very boot see what is tested, on a root that is read-only again.

fail() {
    echo "hugeplan-vm-init: $1" >/dev/console
    exit 1
}

mount -t proc proc /proc || fail "no /proc"
mount -t devtmpfs devtmpfs /dev || fail "no /dev"
mount -t sysfs sysfs /sys || fail "no /sys"
# Named in full, or mount asks fstab, whose PARTUUID nobody can resolve before udev.
mount -o remount,rw /dev/root / || fail "the root file system stays read-only"

payload=
for device in /sys/block/nvme*; do
    if [ "$(cat "$device/nsid")" = 2 ]; then
        payload=/dev/${device##*/}
    fi
done
[ -n "$payload" ] || fail "no payload"
# A scenario that keeps its disk full does so with /filler, which makes room for the payload and takes it back. What
# is freed can be used again once the file system's journal has committed it.
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
