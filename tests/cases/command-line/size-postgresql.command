size postgresql -c shared_buffers=128GB -c max_connections=500
