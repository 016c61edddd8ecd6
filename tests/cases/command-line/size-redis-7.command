size redis --engine-version=7.0.15
