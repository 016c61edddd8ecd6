size oracle --from=/srv/initORDERS.ora -c segments=4
