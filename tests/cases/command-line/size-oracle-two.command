size oracle -c orders.sga_max_size=80G -c hr.sga_max_size=12G
