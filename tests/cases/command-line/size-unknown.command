size postgres
