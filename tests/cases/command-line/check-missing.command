check /etc/none.conf
