# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# What packages are made from. To be sourced after common.sh.
# shellcheck source=scripts/lib/common.sh
: "${checkout:?}"

# release_tarball LOG DIR: writes `meson dist` of the last commit into DIR/meson-dist.
release_tarball() {
        local log=$1 build=$2
        if [ ! -e "$checkout/.git" ]; then
                say "  $checkout is no git checkout; give a release with --tarball"
                return 1
        fi
        # A checkout that belongs to another user than the one who builds.
        export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
        [ -z "$(git -C "$checkout" status --porcelain --untracked-files=no)" ] ||
                say "  what is not committed is left out"
        run_logged "$log" meson setup -Dtests=disabled -Dman=disabled "$build" "$checkout" &&
                run_logged "$log" meson dist -C "$build" --no-tests --allow-dirty
}

# release_unpacked TARBALL DIR: unpacks it into DIR, and prints the directory that it made.
release_unpacked() {
        local entries
        tar --extract --no-same-owner --file "$1" --directory "$2" || return
        entries=("$2"/hugeplan-*/)
        printf '%s\n' "${entries[0]%/}"
}
