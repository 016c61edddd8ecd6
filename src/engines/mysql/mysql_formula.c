/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* MySQL from 8.0 on, with large-pages: the InnoDB buffer pool in chunks. Each chunk is a separate mapping that also
 * holds the descriptors of its blocks, so that 128M take 66 pages of 2M; up to 8.0.26 it is a System V segment. The log
 * buffer and the key buffer take none. MySQL only takes pages of the host's default size.
 *
 * Source: large_page_alloc-linux.h, buf_chunk_init() of MySQL; measurements of 8.0.19 to 9.7.4; the manual,
 * "Configuring InnoDB Buffer Pool Size" and innodb_buffer_pool_instances of 8.0 and 8.4, for chunks and instances. */

#include "engines/mysql/mysql.h"

enum {
        SERVER_VERSION,
        INNODB_BUFFER_POOL_SIZE,
        INNODB_BUFFER_POOL_CHUNK_SIZE,
        INNODB_BUFFER_POOL_INSTANCES,
        INNODB_PAGE_SIZE,
        INNODB_DEDICATED_SERVER,
        LARGE_PAGES,
        HOST_CPUS,
};

/* sizeof(buf_block_t) is more than 256 and at most 384, by the number of pages measured. */
#define DESCRIPTOR_BYTES UINT64_C(384)

static const char expects_size[] = "write a size such as 12G (K, M, G, T; none: bytes)";

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [INNODB_BUFFER_POOL_SIZE] = {"innodb_buffer_pool_size", parse_lettered_bytes, expects_size,
                                     .initial = 128 * MIB, .minimum = 5 * MIB},
        [INNODB_BUFFER_POOL_CHUNK_SIZE] = {"innodb_buffer_pool_chunk_size", parse_lettered_bytes,
                                           expects_size, .initial = 128 * MIB, .minimum = MIB},
        [INNODB_BUFFER_POOL_INSTANCES] = {"innodb_buffer_pool_instances", parse_u64,
                                          "write a number from 1 to 64", .minimum = 1},
        [INNODB_PAGE_SIZE] = {"innodb_page_size", parse_lettered_bytes,
                              "write 4K, 8K, 16K, 32K or 64K", .initial = 16 * KIB,
                              .minimum = 4 * KIB, .maximum = 64 * KIB, .is_power = true},
        [INNODB_DEDICATED_SERVER] = {"innodb_dedicated_server", parse_switch, "write ON or OFF"},
        [LARGE_PAGES] = {"large_pages", parse_switch, "write ON", .initial = 1},
        /* Added by hugeplan itself. */
        [HOST_CPUS] = {"host_cpus", parse_u64, "write a number", .minimum = 1},
};

static const ParameterTable table = {parameters, ARRAY_LEN(parameters)};

typedef struct Chunks {
        uint64_t n;
        uint64_t bytes; /* of the buffer pool in each chunk */
} Chunks;

enum { INSTANCES_MAX = 64 };

/* The server rounds the chunk size down to whole MiB. */
static uint64_t chunk_size(const ParameterValue *values) {
        return values[INNODB_BUFFER_POOL_CHUNK_SIZE].number / MIB * MIB;
}

/* The pool is rounded up to whole chunks for each instance; if it is smaller than one chunk for each instance, the
 * chunks are made smaller instead. */
static Chunks chunks_for(const ParameterValue *values, uint64_t instances) {
        uint64_t pool_bytes = values[INNODB_BUFFER_POOL_SIZE].number;
        uint64_t chunk_bytes = chunk_size(values);
        uint64_t unit_bytes = mul_saturated(chunk_bytes, instances);

        if (pool_bytes < unit_bytes)
                return (Chunks){instances,
                                round_up_saturated(div_round_up(pool_bytes, instances), MIB)};
        return (Chunks){mul_saturated(div_round_up(pool_bytes, unit_bytes), instances),
                        chunk_bytes};
}

/* Each chunk with the descriptors of its blocks, in whole huge pages. */
static uint64_t chunks_bytes(const ParameterValue *values, Chunks chunks,
                             uint64_t page_size_bytes) {
        uint64_t blocks = div_round_up(chunks.bytes, values[INNODB_PAGE_SIZE].number);
        uint64_t bytes = add_saturated(chunks.bytes, mul_saturated(blocks, DESCRIPTOR_BYTES));

        return mul_saturated(chunks.n, round_up_saturated(bytes, page_size_bytes));
}

/* A smaller pool has one instance, even if more are set (BUF_POOL_SIZE_THRESHOLD). */
#define INSTANCES_POOL_MIN_BYTES GIB

/* By default a large pool has 8 instances in 8.0. In 8.4 and later it has half the number of chunks, or a quarter of the
 * CPUs, whichever is less; if the CPUs are not known, the default of 8.0. A CPU affinity of the server is not taken into
 * account. If the version is not known, returns the chunks that take more. */
static Chunks buffer_pool_chunks(const ParameterValue *values, uint64_t page_size_bytes) {
        Version version = parameters_version(values);
        uint64_t pool_bytes = values[INNODB_BUFFER_POOL_SIZE].number;
        uint64_t cpus = values[HOST_CPUS].number, chunks = pool_bytes / chunk_size(values);
        uint64_t least = MIN(MIN(chunks / 2, cpus / 4), (uint64_t) INSTANCES_MAX);

        if (pool_bytes < INSTANCES_POOL_MIN_BYTES)
                return chunks_for(values, 1);
        if (values[INNODB_BUFFER_POOL_INSTANCES].setting)
                return chunks_for(values, values[INNODB_BUFFER_POOL_INSTANCES].number);
        Chunks before = chunks_for(values, 8);
        Chunks since = cpus == 0 ? before : chunks_for(values, MAX(least, UINT64_C(1)));

        if (!version_may_precede(version, VERSION(8, 4)))
                return since;
        if (!version_may_follow(version, VERSION(8, 4)))
                return before;
        return chunks_bytes(values, before, page_size_bytes) >
                               chunks_bytes(values, since, page_size_bytes)
                       ? before
                       : since;
}

#define MEASURED "checked against 8.0, 8.4 and 9.7"

static const char *caveat(Arena *arena, const ParameterValue *values) {
        if (!version_may_precede(parameters_version(values), VERSION(9, 8)))
                return arena_printf(
                        arena,
                        "an estimate for pages of the host's default size, because %s is "
                        "newer than this rule, which was " MEASURED,
                        values[SERVER_VERSION].setting->value);
        return "an upper bound for pages of the host's default size and its number of CPUs, at most 8 "
               "pages of 2M more than the server takes, " MEASURED;
}

static const char *add_mysql(Arena *arena, const Settings *settings UNUSED,
                             const ParameterValue *values, Sizing *sizing) {
        uint64_t version = values[SERVER_VERSION].number;

        if (version > 0 && version < 8)
                return refuse_segments(arena, values[SERVER_VERSION].setting, "MySQL up to 5.7");
        if (values[LARGE_PAGES].number == 0)
                return setting_refuse(arena, values[LARGE_PAGES].setting,
                                      "without it MySQL takes no huge pages; write ON");
        if (values[INNODB_DEDICATED_SERVER].number == 1 && !values[INNODB_BUFFER_POOL_SIZE].setting)
                return setting_refuse(arena, values[INNODB_DEDICATED_SERVER].setting,
                                      "it sizes the pool by the host's memory at each start; set "
                                      "innodb_buffer_pool_size beside it");
        Chunks chunks = buffer_pool_chunks(values, sizing->page_size_bytes);
        uint64_t bytes = chunks_bytes(values, chunks, sizing->page_size_bytes);

        sizing->mapping_bytes = chunks.bytes;
        sizing_add(arena, sizing, "InnoDB buffer pool",
                   arena_printf(arena, "%" PRIu64 " x %s: chunks of %s with their descriptors",
                                chunks.n, format_size(arena, bytes / MAX(chunks.n, UINT64_C(1))),
                                format_size(arena, chunks.bytes)),
                   bytes);
        sizing->caveat = caveat(arena, values);
        return NULL;
}

const EngineFormula formula_mysql = {add_mysql, &table};
