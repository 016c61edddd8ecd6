status --nagios pg-main
