/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* Transparent huge pages: madvise with -XX:+UseTransparentHugePages, instead of reserved ones; with reserved pages it
 * has no preference. */
const Engine engine_jvm = {
        .name = "jvm",
        .title = "Java",
        .thp_preference = THP_AUTO,
        .reserves = true,
        .memory_setting = "Xmx",
        .mebibyte_suffix = "m",
        .has_auto = true,
        .programs = "java javaw jsvc",
        .servers = "java jsvc",
        .supervisors =
                "elasticsearch opensearch systemd-entrypoint kafka-server-start.sh kafka-server-start "
                "catalina.sh tomcat-start.sh startup.sh cassandra",
        .images = "elasticsearch opensearch kafka cassandra tomcat",
};
