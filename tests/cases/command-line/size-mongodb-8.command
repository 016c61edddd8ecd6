size mongodb --engine-version=8.0.4
