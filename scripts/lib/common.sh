# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Functions of all scripts. To be sourced by a script that sets `set -euo pipefail`.

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
program=${0##*/}

# The build dependencies on Debian.
# shellcheck disable=SC2034  # used by the sourcing scripts
build_packages=(gcc libc6-dev meson ninja-build pkg-config libsystemd-dev libjansson-dev)

# The kernel's page sizes. Scripts that change pools lock this directory.
hugepages=/sys/kernel/mm/hugepages

say() {
        printf '%s\n' "$*"
}

# fail WHAT-TO-DO: prints the verdict as the last line, and exits.
fail() {
        printf '%s: FAILED — %s\n' "$program" "$*" >&2
        exit 1
}

# try_logged LOG COMMAND...: runs COMMAND without output, also if it fails.
try_logged() {
        local log=$1
        shift
        printf '\n+ %s\n' "$*" >>"$log"
        "$@" >>"$log" 2>&1 </dev/null
}

# run_logged LOG COMMAND...: runs COMMAND without output; if it fails, prints the end of the log.
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

# The build dependencies may have been installed without dpkg.
have_build_dependencies() {
        local tool
        for tool in cc meson ninja pkg-config; do
                command -v "$tool" >/dev/null || return 1
        done
        pkg-config --exists 'libsystemd >= 252' 'jansson >= 2.12'
}

# Runs apt-get without questions. Package lists that cannot be fetched are an error, not a warning.
apt_get() {
        DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 -o APT::Update::Error-Mode=any "$@"
}

# The packages being installed, which an interruption leaves partly installed.
installing=

# The original standard error: a trap runs with the redirections of the interrupted command.
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

# install_packages LOG PACKAGE...: installs those that are missing.
install_packages() {
        local log=$1 missing
        shift
        if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
                fail "apt-get was not found; install the equivalent of Debian's $* and run this script again"
        fi
        mapfile -t missing < <(missing_packages "$@")
        [ "${#missing[@]}" -eq 0 ] && return 0
        [ "$(id -u)" -eq 0 ] || fail "run, as root: apt-get install ${missing[*]}"
        say "  installing ${missing[*]}"
        installing=${missing[*]}
        # A fresh image has no package lists, and old lists may name files that no longer exist.
        if [ -z "$(find /var/lib/apt/lists -name '*_Packages*' -print -quit 2>/dev/null)" ] ||
                ! try_logged "$log" apt_get install --no-install-recommends "${missing[@]}"; then
                run_logged "$log" apt_get update ||
                        fail "the lists of packages cannot be fetched: is there a network, and are the mirrors in" \
                                "/etc/apt correct? When 'apt-get update' works, run this script again, or otherwise" \
                                "install: ${missing[*]} (log: $log)"
                run_logged "$log" apt_get install --no-install-recommends "${missing[@]}" ||
                        fail "apt-get cannot install ${missing[*]}; try: apt-get install ${missing[*]} (log: $log)"
        fi
        installing=
}

# install_postgresql LOG: installs the server without a cluster, which Debian's package would create and start.
install_postgresql() {
        local log=$1 settings=/etc/postgresql-common/createcluster.conf code=0
        if compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || [ -z "$(missing_packages postgresql)" ]; then
                return
        fi
        install_packages "$log" postgresql-common
        cp -p "$settings" "$settings.before"
        printf 'create_main_cluster = false\n' >>"$settings"
        (install_packages "$log" postgresql) || code=$?
        mv "$settings.before" "$settings"
        return "$code"
}

# build_in LOG DIR OPTION...: configures DIR of the checkout if necessary, and builds it; only build_target if that is
# set.
build_in() {
        local log=$1 directory=$checkout/$2
        shift 2
        if [ ! -e "$directory/build.ninja" ]; then
                run_logged "$log" meson setup "$@" "$directory" "$checkout" || return
        elif ! grep -qsF "\"source\": \"$checkout\"" "$directory/meson-info/meson-info.json"; then
                # the directory was copied with a checkout from elsewhere
                run_logged "$log" meson setup --wipe "$@" "$directory" "$checkout" || return
        fi
        run_logged "$log" ninja -C "$directory" ${build_target:+"$build_target"}
}

# Locks the pools until the script ends, because only one script may change them at a time.
lock_pools() {
        exec {pools_lock}<"$hugepages"
        flock --nonblock "$pools_lock" && return
        say "  another script is changing the pools of this host; waiting for it"
        flock --timeout 600 "$pools_lock" || fail "another script has locked $hugepages; run this script when it has ended"
}
