/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* The fork of Redis 7.2: it takes no reserved pages, and all its versions disable transparent huge pages for themselves
 * (`disable-thp yes`, the default; valkey.conf), so it has no preference for the host. Debian calls the unit
 * valkey-server.service, Fedora valkey.service. */
const Engine engine_valkey = {
        .name = "valkey",
        .title = "Valkey",
        .default_user = "valkey",
        .thp_preference = THP_AUTO,
        .programs = "valkey-server",
        .servers = "valkey-server",
        .images = "valkey valkey-[0-9]*",
        .units = "*valkey*.service",
};
