size generic --from=/srv/generic.yml --page-size=1G
