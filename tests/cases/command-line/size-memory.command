size postgresql --memory=64G -c max_connections=500
