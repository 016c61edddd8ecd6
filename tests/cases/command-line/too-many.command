explain a b
