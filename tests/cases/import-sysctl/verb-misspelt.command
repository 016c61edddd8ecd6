imprt
