size mysql --from=/srv/my.cnf -c innodb_buffer_pool_size=5G
