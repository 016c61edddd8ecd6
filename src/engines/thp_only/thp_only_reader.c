/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The programs of databases whose preference for transparent huge pages depends on the version are asked for it. */

#include "engines/version.h"

/* ---- MongoDB ---- */

static void mongodb_ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                                Question *ret) {
        version_ask(arena, target, sources, "mongod", ret);
}

/* "db version v8.0.4" */
static const char *mongodb_answer_version(Arena *arena, const char *output,
                                          const char **ret_version) {
        return version_answer(arena, output, "db version v", ret_version);
}

const EngineReader reader_mongodb = {
        .ask_version = mongodb_ask_version,
        .answer_version = mongodb_answer_version,
};

/* ---- Redis ---- */

static void redis_ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                              Question *ret) {
        version_ask(arena, target, sources, "redis-server", ret);
}

/* "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=..." */
static const char *redis_answer_version(Arena *arena, const char *output,
                                        const char **ret_version) {
        return version_answer(arena, output, "server v=", ret_version);
}

const EngineReader reader_redis = {
        .ask_version = redis_ask_version,
        .answer_version = redis_answer_version,
};
