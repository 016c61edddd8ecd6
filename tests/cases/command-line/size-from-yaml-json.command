size postgresql --from=/srv/autobase.yml --json
