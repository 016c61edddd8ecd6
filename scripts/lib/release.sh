# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# The release that packages are built from. To be sourced after common.sh.
# shellcheck source=scripts/lib/common.sh
: "${checkout:?}"

# release_tarball LOG DIR: writes `meson dist` of the last commit into DIR/meson-dist.
release_tarball() {
        local log=$1 build=$2
        if [ ! -e "$checkout/.git" ]; then
                say "  $checkout is no git checkout; name a release with --tarball"
                return 1
        fi
        # The checkout may belong to another user.
        export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
        [ -z "$(git -C "$checkout" status --porcelain --untracked-files=no)" ] ||
                say "  uncommitted changes are left out"
        run_logged "$log" meson setup -Dtests=disabled -Dman=disabled "$build" "$checkout" &&
                run_logged "$log" meson dist -C "$build" --no-tests --allow-dirty
}

# release_unpacked TARBALL DIR: unpacks TARBALL in DIR and prints the name of the new directory.
release_unpacked() {
        local entries
        tar --extract --no-same-owner --file "$1" --directory "$2" || return
        entries=("$2"/hugeplan-*/)
        printf '%s\n' "${entries[0]%/}"
}
