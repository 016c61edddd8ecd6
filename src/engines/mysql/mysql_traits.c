/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql.h"

/* No vendor's advice on transparent huge pages was found. */
const Engine engine_mariadb = {
        .name = "mariadb",
        .title = "MariaDB",
        .default_user = "mysql",
        .default_unit = "mariadb.service",
        .sysv_before = VERSION(10, 5),
        .thp_preference = THP_AUTO,
        .reserves = true,
        .memory_setting = "innodb_buffer_pool_size",
        .mebibyte_suffix = "M",
        .has_auto = true,
        .programs = "*mariadbd* *mysqld* galera_new_cluster !*export*",
        .is_started_by_name = true,
        .servers = "mariadbd",
        .supervisors = "mariadbd-safe",
        .data_option = "--datadir",
        .images = "mariadb mariadb-[0-9]*",
        .units = "*maria*.service *mysql*.service",
};

/* No vendor's advice on transparent huge pages was found. Debian calls the unit mysql.service, Red Hat
 * mysqld.service. */
const Engine engine_mysql = {
        .name = "mysql",
        .title = "MySQL",
        .default_user = "mysql",
        .sysv_before = MYSQL_MAPS_SINCE,
        .thp_preference = THP_AUTO,
        .reserves = true,
        .uses_default_size = true,
        .memory_setting = "innodb_buffer_pool_size",
        .mebibyte_suffix = "M",
        .has_auto = true,
        .programs = "*mysqld* mysql-systemd-start !*export*",
        .is_started_by_name = true,
        .servers = "mysqld",
        .supervisors = "mysqld_safe mysql.server",
        .data_option = "--datadir",
        .images = "mysql mysql-server mysql-[0-9]*",
        .units = "*mysql*.service",
};
