size postgresql --from=/srv/none
