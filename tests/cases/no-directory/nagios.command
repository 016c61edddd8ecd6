status --nagios
