status --all
