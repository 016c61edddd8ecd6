reload
