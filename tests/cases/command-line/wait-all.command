wait --all
