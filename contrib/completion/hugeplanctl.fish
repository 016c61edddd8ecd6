# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for hugeplanctl(1).

# Asks with the same --root= as the command line.
function __hugeplanctl_ask
    hugeplanctl (string match -r -- '^--root=.*' (commandline -opc)) $argv 2>/dev/null
end

function __hugeplanctl_instances
    __hugeplanctl_ask status --output=csv | tail -n +2 | string split -f 1 ,
end

function __hugeplanctl_engines
    __hugeplanctl_ask size --json=short | string match -ra '"engine":"[^"]*"' | string split -f 4 '"'
end

# The settings of the engine on the command line, with "=".
function __hugeplanctl_settings
    set -l listed (__hugeplanctl_ask size --json=short)
    for word in (commandline -opc)
        set -l name (string escape --style=regex -- $word)
        set -l found (string match -r -- '\{"engine":"'$name'"[^}]*"settings":\[([^]]*)\]' $listed)
        and string match -ra -- '[^",]+' $found[2] | string replace -r '$' '='
    end
end

set -l verbs status plan verify metrics report check cmdline explain size import wait learn reload release snapshot
set -l no_verb "not __fish_seen_subcommand_from $verbs"

complete -c hugeplanctl -f
complete -c hugeplanctl -n $no_verb -a status -d 'show reservations, verdicts and problems'
complete -c hugeplanctl -n $no_verb -a plan -d 'show what a reload would write; write nothing'
complete -c hugeplanctl -n $no_verb -a verify -d 'show whether running databases use their huge pages'
complete -c hugeplanctl -n $no_verb -a metrics -d 'print the figures for a monitoring system'
complete -c hugeplanctl -n $no_verb -a report -d 'write one HTML page for a change ticket'
complete -c hugeplanctl -n $no_verb -a check -d 'look for problems of the host, or mistakes in files'
complete -c hugeplanctl -n $no_verb -a cmdline -d 'show what the kernel command line should say'
complete -c hugeplanctl -n $no_verb -a explain -d 'show how the size of an instance is calculated'
complete -c hugeplanctl -n $no_verb -a size -d 'calculate pages for settings, or settings for pages'
complete -c hugeplanctl -n $no_verb -a import -d 'propose drop-ins for what this host has now'
complete -c hugeplanctl -n $no_verb -a wait -d 'wait until an instance may start'
complete -c hugeplanctl -n $no_verb -a reload -d 'read the configuration again and apply it'
complete -c hugeplanctl -n $no_verb -a learn -d 'determine, store and reserve the size of an instance'
complete -c hugeplanctl -n $no_verb -a release -d 'give back the free pages of an instance'
complete -c hugeplanctl -n $no_verb -a snapshot -d 'record this host in an archive'

complete -c hugeplanctl -n '__fish_seen_subcommand_from status verify explain size wait learn release' -a '(__hugeplanctl_instances)'
complete -c hugeplanctl -n '__fish_seen_subcommand_from check snapshot metrics report' -F
complete -c hugeplanctl -n '__fish_seen_subcommand_from size' -a '(__hugeplanctl_engines)'

complete -c hugeplanctl -l json -a 'pretty short off' -d 'JSON instead of tables'
complete -c hugeplanctl -l root -r -a '(__fish_complete_directories)' -d 'a captured host below a directory'
complete -c hugeplanctl -l no-pager -d accepted
complete -c hugeplanctl -s h -l help -d 'print a short help'
complete -c hugeplanctl -l version -d 'print the version'

complete -c hugeplanctl -n '__fish_seen_subcommand_from status verify' -l output -x -a 'table csv' -d 'columns for scripts'
complete -c hugeplanctl -n '__fish_seen_subcommand_from report' -l template -r -F -d 'instead of the installed page'
complete -c hugeplanctl -n '__fish_seen_subcommand_from status' -l watch -d 'again on every change'
complete -c hugeplanctl -n '__fish_seen_subcommand_from status' -l nagios -d 'one line for a monitoring plugin'
complete -c hugeplanctl -n '__fish_seen_subcommand_from status' -l all -d 'list who uses huge pages'
complete -c hugeplanctl -n '__fish_seen_subcommand_from wait' -l all -d 'every instance'
complete -c hugeplanctl -n '__fish_seen_subcommand_from wait' -l timeout -x -d 'how long'
complete -c hugeplanctl -n '__fish_seen_subcommand_from wait' -l restart -d 'its database restarts within its unit'
complete -c hugeplanctl -n '__fish_seen_subcommand_from size' -s c -x -a '(__hugeplanctl_settings)' -d 'a setting of the engine'
complete -c hugeplanctl -n '__fish_seen_subcommand_from size' -l from -r -d 'settings in a file'
complete -c hugeplanctl -n '__fish_seen_subcommand_from size' -l page-size -x -a '2M 1G' -d 'instead of the default'
complete -c hugeplanctl -n '__fish_seen_subcommand_from size' -l engine-version -x -d 'version of the engine'
complete -c hugeplanctl -n '__fish_seen_subcommand_from size' -l pages -x -d 'the largest setting for so many pages'
complete -c hugeplanctl -n '__fish_seen_subcommand_from size' -l memory -x -d 'the largest setting for so much memory'
complete -c hugeplanctl -n '__fish_seen_subcommand_from import' -l write -d 'create the files'
complete -c hugeplanctl -n '__fish_seen_subcommand_from reload' -l force -d 'even if an instance could not start any more'
complete -c hugeplanctl -n '__fish_seen_subcommand_from plan check cmdline explain size' -l draft -r \
    -a '(__fish_complete_directories)' -d 'as if its files were in /etc/hugeplan.d'
