#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# enter.sh CHROOT SOURCE BUILD COMMAND...
#
# Runs a command as the user nobody in a chroot: /mnt/source and the chroot itself are read-only, /mnt/build and /tmp are
# writable, and there is no network. To be run by `unshare --mount --pid --net --fork`, which removes the mounts at the end.
set -eu

root=$1 source=$2 build=$3
shift 3

mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t devpts -o ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/mnt"
mkdir "$root/mnt/source" "$root/mnt/build"
mount --bind "$source" "$root/mnt/source"
mount -o remount,bind,ro "$root/mnt/source"
mount --bind "$build" "$root/mnt/build"
exec chroot --userspec=65534:65534 "$root" /usr/bin/env --ignore-environment --chdir=/mnt/build \
    PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/nonexistent LC_ALL=C.UTF-8 "$@"
