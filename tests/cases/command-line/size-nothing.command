size redis -c maxmemory=1G
