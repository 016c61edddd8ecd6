size generic --from=-
