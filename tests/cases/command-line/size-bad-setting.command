size postgresql -c shared_buffers=lots
