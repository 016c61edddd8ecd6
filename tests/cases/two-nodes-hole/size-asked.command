size pg-main --memory=1G
