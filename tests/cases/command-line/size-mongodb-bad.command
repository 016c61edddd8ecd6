size mongodb --engine-version=eight
