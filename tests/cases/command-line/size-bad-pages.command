size oracle --pages=1,000
