size postgresql --from=/srv/postgresql.conf --engine-version=17
