status --nagios nobody
