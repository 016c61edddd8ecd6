size pg -c shared_buffers=3GB
