size postgresql --from=/srv/patroni.yml
