/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The programs of databases whose preference for transparent huge pages depends on the version are asked for it. */

#include "engines/version.h"

/* "db version v8.0.4" */
static void mongodb_ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                                const Gathered *gathered, Question *ret) {
        (void) gathered;
        version_ask(arena, target, sources, "mongod", ret);
}

const EngineReader reader_mongodb = {
        .ask_version = mongodb_ask_version,
        .version_mark = "db version v",
};

/* "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=..." */
static void redis_ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                              const Gathered *gathered, Question *ret) {
        (void) gathered;
        version_ask(arena, target, sources, "redis-server", ret);
}

const EngineReader reader_redis = {
        .ask_version = redis_ask_version,
        .version_mark = "server v=",
};
