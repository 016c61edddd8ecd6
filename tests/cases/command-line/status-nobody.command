status nobody
