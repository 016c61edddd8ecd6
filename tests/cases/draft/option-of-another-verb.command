plan --watch
