# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# What the scripts share. To be sourced; the sourcing script says `set -euo pipefail`.

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
program=${0##*/}

# What a build needs, by Debian's names.
# shellcheck disable=SC2034  # for those who source this
build_packages=(gcc libc6-dev meson ninja-build pkg-config libsystemd-dev libjansson-dev)

# The page sizes of the kernel; whoever changes pools to try something locks this directory.
hugepages=/sys/kernel/mm/hugepages

say() {
        printf '%s\n' "$*"
}

# fail WHAT-TO-DO: the verdict, last line of the output.
fail() {
        printf '%s: FAILED — %s\n' "$program" "$*" >&2
        exit 1
}

# try_logged LOG COMMAND...: quiet, whatever comes of it.
try_logged() {
        local log=$1
        shift
        printf '\n+ %s\n' "$*" >>"$log"
        "$@" >>"$log" 2>&1 </dev/null
}

# run_logged LOG COMMAND...: quiet while all is well; else the end of what was said.
run_logged() {
        local log=$1 code=0
        try_logged "$@" || code=$?
        shift
        [ "$code" -eq 0 ] && return 0
        printf '%s\n' "  $* (exit code $code):" >&2
        tail -n 30 -- "$log" | sed 's/^/  | /' >&2
        return "$code"
}

missing_packages() {
        local package
        for package in "$@"; do
                [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
                        printf '%s\n' "$package"
        done
}

# The build dependencies may have come from anywhere, not only by dpkg.
have_build_dependencies() {
        local tool
        for tool in cc meson ninja pkg-config; do
                command -v "$tool" >/dev/null || return 1
        done
        pkg-config --exists 'libsystemd >= 252' 'jansson >= 2.12'
}

# apt-get, without questions and without services being started by it on the way. Lists that cannot be
# fetched are a mistake, not a warning.
apt_get() {
        DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 -o APT::Update::Error-Mode=any "$@"
}

# What is being installed, and is half installed if that is interrupted.
installing=

# Where a person reads it: a trap runs with what is redirected at that moment.
exec {for_people}>&2

# say_interrupted WHAT-ELSE
say_interrupted() {
        if [ -n "$installing" ]; then
                say "$program: interrupted while packages were being installed; run:" \
                        "dpkg --configure -a && apt-get install $installing"
        else
                say "$program: interrupted; $*"
        fi
}

# install_packages LOG PACKAGE...: those that are missing.
install_packages() {
        local log=$1 missing
        shift
        if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
                fail "there is no apt-get here; install the like of Debian's $* and run this again"
        fi
        mapfile -t missing < <(missing_packages "$@")
        [ "${#missing[@]}" -eq 0 ] && return 0
        [ "$(id -u)" -eq 0 ] || fail "run, as root: apt-get install ${missing[*]}"
        say "  installing ${missing[*]}"
        installing=${missing[*]}
        # A fresh image has no package lists; old lists name files that are gone.
        if [ -z "$(find /var/lib/apt/lists -name '*_Packages*' -print -quit 2>/dev/null)" ] ||
                ! try_logged "$log" apt_get install --no-install-recommends "${missing[@]}"; then
                run_logged "$log" apt_get update ||
                        fail "the lists of packages cannot be fetched: is there a network, and are the mirrors in" \
                                "/etc/apt right? Once 'apt-get update' works, run this again, or, where they can be" \
                                "had in another way, install: ${missing[*]} (log: $log)"
                run_logged "$log" apt_get install --no-install-recommends "${missing[@]}" ||
                        fail "apt-get cannot install ${missing[*]}; try: apt-get install ${missing[*]} (log: $log)"
        fi
        installing=
}

# install_postgresql LOG: the server alone; Debian's package would make a cluster and start it.
install_postgresql() {
        local log=$1 settings=/etc/postgresql-common/createcluster.conf code=0
        if compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; then
                return
        fi
        install_packages "$log" postgresql-common
        cp -p "$settings" "$settings.before"
        printf 'create_main_cluster = false\n' >>"$settings"
        (install_packages "$log" postgresql) || code=$?
        mv "$settings.before" "$settings"
        return "$code"
}

# build_in LOG DIR OPTION...: configures DIR of the checkout where that was not done, and builds; only
# build_target, where that is set.
build_in() {
        local log=$1 directory=$checkout/$2
        shift 2
        if [ ! -e "$directory/build.ninja" ]; then
                run_logged "$log" meson setup "$@" "$directory" "$checkout" || return
        elif ! grep -qsF "\"source\": \"$checkout\"" "$directory/meson-info/meson-info.json"; then
                # copied together with a checkout that was elsewhere
                run_logged "$log" meson setup --wipe "$@" "$directory" "$checkout" || return
        fi
        run_logged "$log" ninja -C "$directory" ${build_target:+"$build_target"}
}

# Held until the script ends: the pools are the host's, one may change them at a time.
lock_pools() {
        exec {pools_lock}<"$hugepages"
        flock --nonblock "$pools_lock" && return
        say "  another script is changing the pools of this host; waiting for it"
        flock --timeout 600 "$pools_lock" || fail "another script holds $hugepages; run this when it is done"
}
