size postgresql --from=/srv/settings.json --memory=16G
