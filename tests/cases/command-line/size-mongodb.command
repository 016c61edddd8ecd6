size mongodb
