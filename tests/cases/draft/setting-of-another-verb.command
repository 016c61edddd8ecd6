plan -c shared_buffers=1GB
