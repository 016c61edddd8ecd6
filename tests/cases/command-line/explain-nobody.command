explain nobody
