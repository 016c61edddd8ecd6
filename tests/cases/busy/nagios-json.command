status --nagios --json
