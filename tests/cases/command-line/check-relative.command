check etc/draft.conf
