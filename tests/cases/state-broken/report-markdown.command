report --format=markdown
