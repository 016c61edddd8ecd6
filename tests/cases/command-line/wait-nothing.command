wait
