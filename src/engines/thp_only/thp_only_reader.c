/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Databases whose preference for transparent huge pages depends on the version: the program is asked for it. */

#include "engines/reader.h"

/* "db version v8.0.4" */
const EngineReader reader_mongodb = {.version_mark = "db version v", .version_programs = "mongod"};

/* "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=..." */
const EngineReader reader_redis = {.version_mark = "server v=", .version_programs = "redis-server"};
