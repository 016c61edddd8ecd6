status --nagios --all
