wait --all --restart
