size mongodb --pages=4
