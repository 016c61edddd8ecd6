check /etc/draft.conf
