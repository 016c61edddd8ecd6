size mongodb --from=/srv/settings.json
