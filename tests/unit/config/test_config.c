/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Configuration: every key, every way of getting a file wrong, and what a mistake may not touch. */

#include "base/size.h"
#include "config/config_keys.h"
#include "model/name_check.h"
#include "support/testing.h"

static const char pg_path[] = "/etc/hugeplan.d/20-pg.conf";

/* One instance file with these lines after the header; line 3 is the first of them. */
static Config *instance_with(Arena *arena, const char *lines) {
        return config_make(arena, "20-pg.conf",
                           arena_printf(arena, "[Instance]\nMemory=1G\n%s\n", lines), NULL);
}

static Config *host_with(Arena *arena, const char *lines) {
        return config_make(arena, "00-host.conf", arena_printf(arena, "[Host]\n%s\n", lines), NULL);
}

static const InstanceConfig *only_instance(const Config *config) {
        assert_int_equal(config->n_instances, 1);
        return &config->instances[0];
}

static const InstanceConfig *valid_instance(Arena *arena, const char *lines) {
        const Config *config = instance_with(arena, lines);
        const InstanceConfig *instance = only_instance(config);

        assert_text(problems_text(arena, &config->problems), "");
        assert_null(instance->refusal);
        return instance;
}

static const HostConfig *valid_host(Arena *arena, const char *lines) {
        const Config *config = host_with(arena, lines);

        assert_text(problems_text(arena, &config->problems), "");
        return &config->host;
}

/* Exactly one mistake, told like this, and the instance is refused with it. */
static void assert_refused(Arena *arena, const char *text, const char *message) {
        const Config *config = config_make(arena, "20-pg.conf", text, NULL);

        assert_text(problems_text(arena, &config->problems), message);
        assert_int_equal(diags_count(&config->problems, SEVERITY_ERROR), 1);
        const InstanceConfig *instance = only_instance(config);

        assert_non_null(instance->refusal);
        assert_text(diag_format(arena, instance->refusal), message);
        assert_text(instance->file, pg_path);
}

/* ---- defaults ---- */

TEST(host_defaults) {
        const Config *config = config_make(arena, NULL);
        const HostConfig *host = &config->host;

        assert_int_equal(config->n_instances, 0);
        assert_int_equal(config->problems.list.n, 0);
        assert_int_equal(host->thp, THP_AUTO);
        assert_true(host->keep_free.is_share);
        assert_int_equal(host->keep_free.hundredths, 1000);
        assert_true(host->may_compact);
        assert_true(host->may_reclaim);
        assert_false(host->may_drop_caches);
        assert_true(host->boot_timeout_usec == 30 * USEC_PER_SEC);
        assert_true(host->reserve_timeout_usec == 300 * USEC_PER_SEC);
        assert_int_equal(host->existing_pages, EXISTING_USE);
        assert_int_equal(host->on_drift, DRIFT_REPAIR);
        assert_false(host->keep_shared_memory_limits);
}

TEST(instance_defaults) {
        const InstanceConfig *instance = valid_instance(arena, "");

        assert_text(instance->name, "pg");
        assert_text(instance->file, pg_path);
        assert_text(instance->engine->name, "generic");
        assert_null(instance->unit);
        assert_int_equal(instance->memory_kind, MEMORY_BYTES);
        assert_true(instance->memory_bytes == GIB);
        assert_int_equal(instance->pages.n, 0);
        assert_int_equal(instance->n_page_sizes, 1);
        assert_int_equal(instance->page_sizes[0], 0);
        assert_false(instance->has_nodes);
        assert_int_equal(instance->placement, PLACEMENT_SPREAD);
        assert_int_equal(instance->n_node_memory, 0);
        assert_int_equal(instance->shortage, SHORTAGE_REFUSE);
        assert_int_equal(instance->priority, PRIORITY_DEFAULT);
        assert_true(instance->wait_timeout_usec > 0);
        assert_int_equal(instance->thp, THP_AUTO);
        assert_int_equal(instance->isolate, TRI_AUTO);
        assert_int_equal(instance->shared_memory, SHARED_MEMORY_ENGINE);
        assert_null(instance->user);
        assert_null(instance->mount);
}

/* The gate must speak before systemd's own time-out of 90s kills it. */
TEST(wait_timeout_default) {
        const InstanceConfig *instance = valid_instance(arena, "");

        assert_true(instance->wait_timeout_usec <= 90 * USEC_PER_SEC);
}

/* ---- good values ---- */

TEST(host_values) {
        const HostConfig *host = valid_host(arena, "TransparentHugePages=madvise\n"
                                                   "KeepFree=12.5%\n"
                                                   "Compaction=no\n"
                                                   "Reclaim=off\n"
                                                   "DropCaches=yes\n"
                                                   "BootTimeout=2min\n"
                                                   "ReserveTimeout=infinity\n"
                                                   "ExistingPages=keep\n"
                                                   "OnDrift=report\n"
                                                   "SharedMemoryLimits=keep");

        assert_int_equal(host->thp, THP_MADVISE);
        assert_true(host->keep_free.is_share);
        assert_int_equal(host->keep_free.hundredths, 1250);
        assert_false(host->may_compact);
        assert_false(host->may_reclaim);
        assert_true(host->may_drop_caches);
        assert_true(host->boot_timeout_usec == 120 * USEC_PER_SEC);
        assert_true(host->reserve_timeout_usec == UINT64_MAX);
        assert_int_equal(host->existing_pages, EXISTING_KEEP);
        assert_int_equal(host->on_drift, DRIFT_REPORT);
        assert_true(host->keep_shared_memory_limits);
}

TEST(silenced_rules) {
        const HostConfig *host = valid_host(arena, "SilenceRules=pg-dash\n"
                                                   "SilenceRules=\n"
                                                   "SilenceRules=pg-try, conflict-sysctl\n"
                                                   "SilenceRules=my-resize");

        assert_int_equal(host->silenced.n, 3);
        assert_text(host->silenced.items[0].id, "pg-try");
        assert_int_equal(host->silenced.items[0].line, 4);
        assert_text(host->silenced.items[1].id, "conflict-sysctl");
        assert_text(host->silenced.items[2].id, "my-resize");
        assert_int_equal(host->silenced.items[2].line, 5);
}

TEST(silenced_rules_of_several_files) {
        const Config *config =
                config_make(arena, "00-host.conf", "[Host]\nSilenceRules=pg-dash\n", "10-b.conf",
                            "[Host]\nSilenceRules=pg-try\n", "20-c.conf",
                            "[Host]\nSilenceRules=\nSilenceRules=no-such-thing-at-all\n", NULL);

        /* The last one is refused, whole. */
        assert_int_equal(config->host.silenced.n, 2);
        assert_text(config->host.silenced.items[1].file, "/etc/hugeplan.d/10-b.conf");
        assert_contains(
                problems_text(arena, &config->problems),
                "20-c.conf:3: SilenceRules: there is no rule 'no-such-thing-at-all'; write ids as");
}

TEST(silenced_near_miss) {
        const Config *config =
                config_make(arena, "00-host.conf", "[Host]\nSilenceRules=pg_try\n", NULL);

        assert_contains(
                problems_text(arena, &config->problems),
                "00-host.conf:2: SilenceRules: there is no rule 'pg_try', but there is pg-try");
        config =
                config_make(arena, "00-host.conf", "[Host]\nSilenceRules=config-bad-value\n", NULL);
        assert_int_equal(config->host.silenced.n, 0);
        assert_int_equal(config->problems.list.n, 1);
}

TEST(host_thp_words) {
        static const struct {
                const char *word;
                ThpPolicy policy;
        } words[] = {{"auto", THP_AUTO},
                     {"keep", THP_KEEP},
                     {"never", THP_NEVER},
                     {"madvise", THP_MADVISE},
                     {"always", THP_ALWAYS}};

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                assert_int_equal(valid_host(arena, arena_printf(arena, "TransparentHugePages=%s",
                                                                words[i].word))
                                         ->thp,
                                 words[i].policy);
}

TEST(keep_free_bytes) {
        const HostConfig *host = valid_host(arena, "KeepFree=4G");

        assert_false(host->keep_free.is_share);
        assert_true(amount_of(&host->keep_free, 100 * GIB) == 4 * GIB);
        assert_text(amount_format(arena, &host->keep_free), "4G");
        host = valid_host(arena, "KeepFree=12.5%");
        assert_true(amount_of(&host->keep_free, 16 * GIB) == 2 * GIB);
        assert_text(amount_format(arena, &host->keep_free), "12.50%");
        assert_text(amount_format(arena, &valid_host(arena, "KeepFree=1%")->keep_free), "1%");
        assert_text(amount_format(arena, &valid_host(arena, "KeepFree=64M")->keep_free), "64M");
}

TEST(instance_values) {
        const InstanceConfig *instance = valid_instance(arena, "Name=main.db\n"
                                                               "Engine=postgresql\n"
                                                               "Unit=postgresql@15-main.service\n"
                                                               "PageSize=1G,2M\n"
                                                               "Nodes=0,2-3\n"
                                                               "Placement=bind\n"
                                                               "Shortage=degrade\n"
                                                               "Priority=100\n"
                                                               "TransparentHugePages=always\n"
                                                               "Isolate=no\n"
                                                               "WaitTimeout=5min");

        assert_text(instance->name, "main.db");
        assert_text(instance->engine->name, "postgresql");
        assert_text(instance->unit, "postgresql@15-main.service");
        assert_int_equal(instance->n_page_sizes, 2);
        assert_true(instance->page_sizes[0] == GIB);
        assert_true(instance->page_sizes[1] == 2 * MIB);
        assert_true(instance->has_nodes);
        assert_text(id_set_format(arena, &instance->nodes), "0,2-3");
        assert_int_equal(instance->placement, PLACEMENT_BIND);
        assert_int_equal(instance->shortage, SHORTAGE_DEGRADE);
        assert_int_equal(instance->priority, 100);
        assert_int_equal(instance->thp, THP_ALWAYS);
        assert_int_equal(instance->isolate, TRI_NO);
        assert_true(instance->wait_timeout_usec == 300 * USEC_PER_SEC);
        assert_int_equal(valid_instance(arena, "Placement=pack")->placement, PLACEMENT_PACK);
        assert_int_equal(valid_instance(arena, "Priority=0")->priority, 0);
        assert_false(valid_instance(arena, "Nodes=all")->has_nodes);
}

TEST(pages) {
        const Config *config = config_make(arena, "20-pg.conf", "[Instance]\nPages=1081\n", NULL);
        const InstanceConfig *instance = only_instance(config);

        assert_null(instance->refusal);
        assert_true(page_counts_find(&instance->pages, 2 * MIB) == 1081);
        assert_int_equal(instance->memory_kind, MEMORY_UNSET);
}

TEST(node_memory) {
        const Config *config = config_make(
                arena, "20-pg.conf", "[Instance]\nNodeMemory=3:4G 0:12G\nNodeMemory=1:1G\n", NULL);
        const InstanceConfig *instance = only_instance(config);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(instance->n_node_memory, 3); /* sorted by node */
        assert_int_equal(instance->node_memory[0].node, 0);
        assert_true(instance->node_memory[0].bytes == 12 * GIB);
        assert_int_equal(instance->node_memory[1].node, 1);
        assert_true(instance->node_memory[1].bytes == GIB);
        assert_int_equal(instance->node_memory[2].node, 3);
        assert_true(instance->node_memory[2].bytes == 4 * GIB);
}

TEST(origins) {
        const Config *config = config_make(
                arena, "20-pg.conf", "# a comment\n\n[Instance]\nMemory=1G\n",
                "20-pg.conf.d/90-more.conf", "[Instance]\nPriority=7\nMemory=2G\n", NULL);
        const InstanceConfig *instance = only_instance(config);
        const ConfigOrigin *last = &instance->origins.items[instance->origins.n - 1];

        assert_true(instance->memory_bytes == 2 * GIB);
        assert_int_equal(instance->origins.n, 2); /* the overridden value no longer counts */
        assert_text(last->key, "Memory");
        assert_text(last->value, "2G");
        assert_text(last->file, "/etc/hugeplan.d/20-pg.conf.d/90-more.conf");
        assert_int_equal(last->line, 3);
}

/* ---- empty values reset ---- */

TEST(reset) {
        const char *reset = "Engine=jvm\nEngine=\nUnit=a.service\nUnit=\nPageSize=1G\nPageSize=\n"
                            "Nodes=0-3\nNodes=\nPlacement=pack\nPlacement=\nShortage=degrade\n"
                            "Shortage=\nPriority=3\nPriority=\nTransparentHugePages=always\n"
                            "TransparentHugePages=\nWaitTimeout=1s\nWaitTimeout=\nIsolate=no\n"
                            "Isolate=\nName=other\nName=\n";
        const InstanceConfig *plain = valid_instance(arena, "");
        const InstanceConfig *instance = valid_instance(arena, reset);

        assert_text(instance->name, "pg");
        assert_ptr_equal(instance->engine, plain->engine);
        assert_null(instance->unit);
        assert_int_equal(instance->n_page_sizes, 1);
        assert_int_equal(instance->page_sizes[0], 0);
        assert_false(instance->has_nodes);
        assert_true(id_set_is_empty(&instance->nodes));
        assert_int_equal(instance->placement, PLACEMENT_SPREAD);
        assert_int_equal(instance->shortage, SHORTAGE_REFUSE);
        assert_int_equal(instance->priority, PRIORITY_DEFAULT);
        assert_int_equal(instance->thp, THP_AUTO);
        assert_int_equal(instance->isolate, TRI_AUTO);
        assert_true(instance->wait_timeout_usec == plain->wait_timeout_usec);
}

TEST(reset_amounts) {
        const Config *config = config_make(arena, "20-pg.conf",
                                           "[Instance]\nMemory=1G\nMemory=\nNodeMemory=0:1G\n"
                                           "NodeMemory=\nPages=5\nPages=\nPages=9\n",
                                           NULL);
        const InstanceConfig *instance = only_instance(config);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(instance->memory_kind, MEMORY_UNSET);
        assert_int_equal(instance->n_node_memory, 0);
        assert_true(page_counts_find(&instance->pages, 2 * MIB) == 9);
}

TEST(reset_host) {
        const HostConfig *host = valid_host(
                arena, "TransparentHugePages=always\nTransparentHugePages=\nKeepFree=1G\n"
                       "KeepFree=\nCompaction=no\nCompaction=\nDropCaches=yes\nDropCaches=\n"
                       "BootTimeout=1s\nBootTimeout=\nExistingPages=keep\nExistingPages=\n"
                       "OnDrift=report\nOnDrift=\nSharedMemoryLimits=keep\nSharedMemoryLimits=");

        assert_int_equal(host->thp, THP_AUTO);
        assert_int_equal(host->keep_free.hundredths, 1000);
        assert_true(host->may_compact);
        assert_false(host->may_drop_caches);
        assert_true(host->boot_timeout_usec == 30 * USEC_PER_SEC);
        assert_int_equal(host->existing_pages, EXISTING_USE);
        assert_int_equal(host->on_drift, DRIFT_REPAIR);
        assert_false(host->keep_shared_memory_limits);
}

/* What was reset does not count as a cause of a contradiction, nor as one of the inputs. */
TEST(reset_origins) {
        const Config *config = config_make(arena, "20-pg.conf", "[Instance]\nMemory=1G\n",
                                           "20-pg.conf.d/a.conf", "[Instance]\nMemory=\nPages=7\n",
                                           NULL);
        const InstanceConfig *instance = only_instance(config);

        assert_null(instance->refusal);
        VEC_FOREACH(origin, &instance->origins)
                assert_string_not_equal(origin->key, "Memory");
}

TEST(nodes_all_forgets) {
        const InstanceConfig *instance = valid_instance(arena, "Nodes=5\nNodes=all\nNodes=1");

        assert_text(id_set_format(arena, &instance->nodes), "1");
}

/* ---- bad values ---- */

typedef struct BadValue {
        const char *key, *value;
} BadValue;

static void check_bad_value(Arena *arena, bool is_host, const BadValue *bad) {
        const Config *config =
                config_make(arena, "20-pg.conf",
                            arena_printf(arena, "[%s]\n%s=%s\n", is_host ? "Host" : "Instance",
                                         bad->key, bad->value),
                            NULL);
        const Diag *problem = config->problems.list.items;

        if (config->problems.list.n == 0)
                fail_msg("%s=%s is taken", bad->key, bad->value);
        assert_text(problem->id, "config-bad-value");
        assert_int_equal(problem->severity, SEVERITY_ERROR);
        assert_text(problem->file, pg_path);
        assert_int_equal(problem->line, 2);
        assert_text(problem->key, bad->key);
        assert_non_null(problem->text);
        assert_non_null(problem->remedy);
        if (!is_host)
                assert_non_null(only_instance(config)->refusal);
        else
                assert_int_equal(config->n_instances, 0);
}

TEST(bad_host_values) {
        static const BadValue bad[] = {
                {"TransparentHugePages", "Never"},
                {"TransparentHugePages", "no"},
                {"KeepFree", "0"},
                {"KeepFree", "10"},    /* ten bytes */
                {"KeepFree", "63M"},   /* too little to live on */
                {"KeepFree", "0.99%"}, /* likewise */
                {"KeepFree", "100%"},
                {"KeepFree", "101%"},
                {"KeepFree", "ten"},
                {"KeepFree", "-1G"},
                {"Compaction", "maybe"},
                {"Reclaim", "2"},
                {"DropCaches", "3"},
                {"BootTimeout", "soon"},
                {"BootTimeout", "-1s"},
                {"ReserveTimeout", "5 fortnights"},
                {"ExistingPages", "Use"},
                {"OnDrift", "ignore"},
                {"SharedMemoryLimits", "yes"},
        };

        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                check_bad_value(arena, true, &bad[i]);
}

TEST(bad_instance_values) {
        static const BadValue bad[] = {
                {"Name", "two words"},
                {"Name", "-pg"},
                {"Name", "pg/main"},
                {"Name", "\xC3\xA4"},
                {"Name", "12345678901234567890123456789012345678901234567890123456789012345"},
                {"Engine", "postgres"},
                {"Engine", "PostgreSQL"},
                {"Unit", "postgresql"},
                {"Unit", "postgresql.socket"},
                {"Unit", "postgresql@.service"},
                {"Unit", ".service"},
                {"Unit", "@x.service"},
                {"Unit", "../x.service"},
                {"Unit", "a b.service"},
                {"Unit", "a%i.service"},
                {"Memory", "8GG"},
                {"Memory", "0"},
                {"Memory", "25%"},
                {"Memory", "-8G"},
                {"Memory", "99999999999T"},
                {"Pages", "0"},
                {"Pages", "-5"},
                {"Pages", "1.5"},
                {"Pages", "8G"},
                {"Pages", "18446744073709551616"},
                {"PageSize", "3M"},
                {"PageSize", "2K"},
                {"PageSize", "huge"},
                {"PageSize", "2M,2M"},
                {"PageSize", "2M,2048K"},
                {"PageSize", ","},
                {"PageSize", "4K,8K,16K,32K,64K,128K,256K,512K,1M"},
                {"Nodes", "0-"},
                {"Nodes", "3-1"},
                {"Nodes", "none"},
                {"Nodes", "1024"},
                {"Nodes", "0 1"},
                {"Placement", "interleaved"},
                {"NodeMemory", "12G"},
                {"NodeMemory", "0:"},
                {"NodeMemory", ":1G"},
                {"NodeMemory", "0:0"},
                {"NodeMemory", "0:1G,0:2G"},
                {"NodeMemory", "1024:1G"},
                {"NodeMemory", "x:1G"},
                {"NodeMemory", ","},
                {"Shortage", "ignore"},
                {"Priority", "101"},
                {"Priority", "-1"},
                {"Priority", "high"},
                {"TransparentHugePages", "keep"}, /* the host's alone */
                {"TransparentHugePages", "yes"},
                {"Isolate", "maybe"},
                {"WaitTimeout", "forever"},
                {"MemoryLock", "lots"},
                {"SharedMemory", "posix"},
                {"ConfigFile", "postgresql.conf"},
                {"DataDirectory", "main"},
                {"Mount", "hugepages"},
        };

        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                check_bad_value(arena, false, &bad[i]);
}

TEST(messages) {
        assert_refused(arena, "[Instance]\nMemory=8GG\n",
                       "/etc/hugeplan.d/20-pg.conf:2: Memory: '8GG' is not valid here; write a "
                       "size such as 8G, auto, or auto:64G with a bound");
        assert_refused(arena, "\n\n[Instance]\nMemory=1G\n# x\nPriority=101\n",
                       "/etc/hugeplan.d/20-pg.conf:6: Priority: '101' is not valid here; write a "
                       "whole number from 0 to 100");
        assert_refused(arena, "[Instance]\nMemory=99999999999T\n",
                       "/etc/hugeplan.d/20-pg.conf:2: Memory: '99999999999T' is more than can be "
                       "counted; write a size such as 8G, auto, or auto:64G with a bound");
        assert_refused(arena, "[Instance]\nMemory=1G\nPageSize=1G,3M\n",
                       "/etc/hugeplan.d/20-pg.conf:3: PageSize: '3M' is no page size; write "
                       "default, or sizes such as 2M or 1G,2M in order of preference");
}

/* Every key of the table: it has a setter, a remedy, and its default is taken by its own setter. */
TEST(key_table) {
        HostConfig host = {};
        InstanceConfig instance = {};
        KeyTarget target = {.arena = arena, .host = &host, .instance = &instance};

        assert_true(n_config_keys > 20);
        for (size_t i = 0; i < n_config_keys; i++) {
                const ConfigKey *key = &config_keys[i];

                assert_non_null(key->set);
                assert_non_null(key->expects);
                assert_true(key->default_value || key->reset || key->size > 0);
                if (key->default_value)
                        assert_null(key->set(&target, key, key->default_value));
                for (size_t k = 0; k < i; k++)
                        assert_false(config_keys[k].section == key->section &&
                                     text_equals(config_keys[k].name, key->name));
        }
}

/* A bad value for every key there is: none takes everything. */
TEST(every_key_refuses_something) {
        for (size_t i = 0; i < n_config_keys; i++) {
                const ConfigKey *key = &config_keys[i];
                const Config *config = config_make(
                        arena, "20-pg.conf",
                        arena_printf(arena, "[%s]\n%s=\x01 no such thing\n",
                                     key->section == SECTION_HOST ? "Host" : "Instance", key->name),
                        NULL);

                if (config->problems.list.n == 0)
                        fail_msg("%s= takes anything", key->name);
                assert_text(config->problems.list.items[0].key, key->name);
                assert_text(config->problems.list.items[0].id, "config-bad-value");
        }
}

/* ---- keys that are none ---- */

TEST(unknown_keys) {
        assert_refused(arena, "[Instance]\nMemory=1G\nColour=red\n",
                       "/etc/hugeplan.d/20-pg.conf:3: Colour: unknown key; hugeplan.d(5) lists the "
                       "keys; your own begin with X-");
        /* A near miss is named. */
        assert_refused(arena, "[Instance]\nMemory=1G\npagesize=2M\n",
                       "/etc/hugeplan.d/20-pg.conf:3: pagesize: unknown key; write PageSize=");
        /* The right key in the wrong section. */
        assert_refused(arena, "[Instance]\nMemory=1G\nKeepFree=1G\n",
                       "/etc/hugeplan.d/20-pg.conf:3: KeepFree: unknown key; the key belongs into "
                       "the section [Host]");
        const Config *config = host_with(arena, "Memory=1G");

        assert_text(problems_text(arena, &config->problems),
                    "/etc/hugeplan.d/00-host.conf:2: Memory: unknown key; the key belongs into the "
                    "section [Instance]");
}

TEST(own_keys) {
        const Config *config =
                config_make(arena, "20-pg.conf",
                            "[X-Notes]\nAnything=goes\nMemory=none\n[Instance]\nMemory=1G\n"
                            "X-Owner=the DBA team\n",
                            NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_true(only_instance(config)->memory_bytes == GIB);
}

TEST(repeated) {
        assert_refused(arena, "[Instance]\nMemory=1G\nMemory=2G\n",
                       "/etc/hugeplan.d/20-pg.conf:3: Memory: is set in line 2 already; keep one "
                       "of the lines");
        /* The same value twice is a slip all the same; the section may be opened twice. */
        assert_refused(arena, "[Instance]\nMemory=1G\n[Instance]\nMemory=1G\n",
                       "/etc/hugeplan.d/20-pg.conf:4: Memory: is set in line 2 already; keep one "
                       "of the lines");
        /* Lists add up, and an empty value in between makes room. */
        assert_text(id_set_format(arena, &valid_instance(arena, "Nodes=0\nNodes=2")->nodes), "0,2");
        assert_int_equal(valid_instance(arena, "Priority=1\nPriority=\nPriority=2")->priority, 2);
        /* A later file may say otherwise. */
        const Config *config = config_make(arena, "00-a.conf", "[Host]\nKeepFree=1G\n", "10-b.conf",
                                           "[Host]\nKeepFree=2G\n", NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_true(config->host.keep_free.bytes == 2 * GIB);
}

/* ---- lines ---- */

TEST(syntax) {
        static const struct {
                const char *text, *message;
        } cases[] = {
                {"[Instance]\nMemory=1G\nnonsense\n",
                 ":3: 'nonsense' is no assignment; write Key=Value"},
                {"[Instance]\nMemory=1G\nPriority:5\n",
                 ":3: 'Priority:5' is no assignment; write Key=Value"},
                {"[Instance]\nMemory=1G\nPriority:5=3\n",
                 ":3: Priority:5: this is no key; write Key=Value"},
                {"[Instance]\nMemory=1G\n=5\n", ":3: : this is no key; write Key=Value"},
                {"[Instance]\nMemory=1G\nMy Key=5\n",
                 ":3: My Key: this is no key; write Key=Value"},
                {"[Instance]\nMemory=1G\nPriority=5 ; less\n",
                 ":3: Priority: a comment after the value would become part of it; put the comment "
                 "on a line of its own, or the value in double quotes"},
                {"[Instance]\nMemory=1G\nPriority=5 # less\n",
                 ":3: Priority: a comment after the value would become part of it; put the comment "
                 "on a line of its own, or the value in double quotes"},
                {"[Instance]\nMemory=1G\nPriority=5\t;less\n",
                 ":3: Priority: a comment after the value would become part of it; put the comment "
                 "on a line of its own, or the value in double quotes"},
                {"[Instance]\nMemory=1G\nNodes=0,\\\n",
                 ":3: Nodes: a backslash does not continue the line; repeat the key to continue a "
                 "list on a line of its own"},
                {"Memory=1G\nUnit=pg.service\nNodes=0\n",
                 ":1: Memory: the key comes before the first section; begin the "
                 "file with [Host] or [Instance]"},
                {"[Instance]\nMemory=1G\n[Instances]\n",
                 ":3: unknown section [Instances]; the sections are [Host] and [Instance]; your "
                 "own begin with X-"},
                {"[Instance]\nMemory=1G\n[]\n",
                 ":3: unknown section []; the sections are [Host] and [Instance]; your own begin "
                 "with X-"},
                {"[Instance]\nMemory=1G\n[ Host ]\n",
                 ":3: unknown section [ Host ]; the sections are [Host] and [Instance]; your own "
                 "begin with X-"},
                {"[Instance]\nMemory=1G\n[Host\n",
                 ":3: '[Host' is no section header; write [Host] or [Instance] alone on its line"},
                {"[Instance]\nMemory=1G\n[\n",
                 ":3: '[' is no section header; write [Host] or [Instance] alone on its line"},
                {"[Instance]\nMemory=1G\n[Host] # here\n",
                 ":3: '[Host] # here' is no section header; write [Host] or [Instance] alone on "
                 "its line"},
                {"[Instance]\nMemory=1G\n[Host]]\n",
                 ":3: '[Host]]' is no section header; write [Host] or [Instance] alone on its "
                 "line"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_refused(arena, cases[i].text,
                               arena_printf(arena, "%s%s", pg_path, cases[i].message));
}

/* In quotes a value may hold anything that can be printed; what does not end so is refused. */
TEST(quotes) {
        static const struct {
                const char *written, *read; /* NULL: refused */
        } rows[] = {
                {"/srv/a b", "/srv/a b"},
                {"/srv/a#b;c", "/srv/a#b;c"},
                {"\"/srv/db #1\"", "/srv/db #1"},
                {"\"/srv/db ;1 \" ", "/srv/db ;1 "},
                {"\"/srv/\\\"a\\\\\"", "/srv/\"a\\"},
                {"/srv/\"a\"", "/srv/\"a\""},
                {"\"/srv/a", NULL},
                {"\"/srv/a\"b", NULL},
                {"\"/srv/a\" # b", NULL},
                {"\"/srv/\\a\"", NULL},
                {"\"/srv/a\\\"", NULL},
                {"\"\"", NULL /* the default */},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const Config *config = instance_with(
                        arena, arena_printf(arena, "DataDirectory=%s", rows[i].written));

                assert_text(only_instance(config)->data_directory, rows[i].read);
                assert_int_equal(config->problems.list.n,
                                 rows[i].read || text_equals(rows[i].written, "\"\"") ? 0 : 1);
        }
        assert_refused(arena, "[Instance]\nMemory=1G\nDataDirectory=\"/a\n",
                       "/etc/hugeplan.d/20-pg.conf:3: DataDirectory: the closing quote is missing; "
                       "write the value without quotes, or as \"VALUE\", with \\\" for a quote and "
                       "\\\\ for a backslash within it");
}

/* What looks like a comment but is none, and what is one. */
TEST(harmless_lines) {
        const Config *config = config_make(arena, "20-pg.conf",
                                           "# comment\n"
                                           "; comment\n"
                                           "   # indented comment\n"
                                           "\n"
                                           "  [Instance]  \r\n"
                                           "\tMemory = 1G\t\r\n"
                                           "   Unit=a#b.service;\n"
                                           "   Unit=\n"
                                           "   Priority=7",
                                           NULL);

        /* '#' and ';' within a value are no comments; a unit cannot hold them, of course. */
        assert_text(problems_text(arena, &config->problems),
                    "/etc/hugeplan.d/20-pg.conf:7: Unit: the unit's name has characters that unit "
                    "names cannot have; write the full name of a service, such as "
                    "postgresql@15-main.service");
        config = config_make(arena, "20-pg.conf",
                             "  [Instance]  \r\n\tMemory = 1G\t\r\n   Priority=7", NULL);
        assert_text(problems_text(arena, &config->problems), "");
        assert_true(only_instance(config)->memory_bytes == GIB);
        assert_int_equal(only_instance(config)->priority, 7);
}

TEST(indented_is_no_continuation) {
        const InstanceConfig *instance =
                valid_instance(arena, "Nodes=0\n    Priority=7\n    Shortage=degrade");

        assert_text(id_set_format(arena, &instance->nodes), "0");
        assert_int_equal(instance->priority, 7);
        assert_int_equal(instance->shortage, SHORTAGE_DEGRADE);
}

static char *long_value_line(Arena *arena, const char *start, size_t length) {
        Text text = text_in(arena);

        text_add(&text, start);
        text_repeat(&text, 'x', length - strlen(start));
        return text.string;
}

TEST(long_lines) {
        char *fits = long_value_line(arena, "X-Note=", 8300);
        char *cut = long_value_line(arena, "X-Note=", 8301);
        char *comment = long_value_line(arena, "# ", 20000);

        assert_text(problems_text(arena, &instance_with(arena, fits)->problems), "");
        assert_text(problems_text(arena, &instance_with(arena, comment)->problems), "");
        assert_refused(arena, arena_printf(arena, "[Instance]\nMemory=1G\n%s\nPriority=5\n", cut),
                       "/etc/hugeplan.d/20-pg.conf:3: the line is longer than 8300 bytes; repeat "
                       "the key to continue a list on a line of its own");
        /* A long comment does not swallow or split the line after it. */
        const InstanceConfig *instance =
                valid_instance(arena, arena_printf(arena, "%s\nPriority=5", comment));

        assert_int_equal(instance->priority, 5);
        /* Blanks around do not count. */
        Text padded = text_in(arena);

        text_repeat(&padded, ' ', 300);
        text_add(&padded, "Priority=6");
        text_repeat(&padded, ' ', 300);
        assert_int_equal(valid_instance(arena, padded.string)->priority, 6);
}

/* No value of a long line arrives cut: whatever its length, it is taken whole or refused. */
TEST(no_line_is_cut) {
        for (size_t length = 8250; length < 8350; length++) {
                char *line = long_value_line(arena, "Memory=1G\nUnit=", length);
                const Config *config = config_make(
                        arena, "20-pg.conf", arena_printf(arena, "[Instance]\n%s\n", line), NULL);
                const InstanceConfig *instance = only_instance(config);

                assert_non_null(instance->refusal); /* no .service at its end */
                assert_null(instance->unit);
        }
}

TEST(nul_bytes) {
        static const char text[] = "[Instance]\nMemory=1G\0\nPriority=9\n";
        const Config *config = config_make_bytes(arena, "20-pg.conf", text, sizeof(text) - 1);

        assert_contains(problems_text(arena, &config->problems),
                        "20-pg.conf:2: the line holds a NUL byte; write plain text");
        assert_non_null(only_instance(config)->refusal);
}

TEST(bad_utf8) {
        assert_refused(arena, "[Instance]\nMemory=1G\n# caf\xE9\n",
                       "/etc/hugeplan.d/20-pg.conf:3: the line is not valid UTF-8; save the file "
                       "in UTF-8");
        assert_text(problems_text(arena, &instance_with(arena, "# caf\xC3\xA9")->problems), "");
}

TEST(byte_order_mark) {
        const Config *config =
                config_make(arena, "20-pg.conf", "\xEF\xBB\xBF[Instance]\nMemory=1G\n", NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_null(only_instance(config)->refusal);
}

TEST(no_newline_at_end) {
        const Config *config =
                config_make(arena, "20-pg.conf", "[Instance]\nMemory=1G\nPriority=3", NULL);

        assert_int_equal(only_instance(config)->priority, 3);
}

/* Keys after a header that is none must not land in the section before it. */
TEST(keys_after_malformed_header) {
        const Config *config =
                config_make(arena, "20-pg.conf",
                            "[Host]\nKeepFree=1G\n[Instance\nMemory=1G\nUnit=a.service\n", NULL);

        assert_text(problems_text(arena, &config->problems),
                    "/etc/hugeplan.d/20-pg.conf:3: '[Instance' is no section header; write [Host] "
                    "or [Instance] alone on its line");
        assert_true(config->host.keep_free.is_share); /* the file is refused whole */
}

/* Several mistakes: all are told, in order, and the first one refuses the instance. */
TEST(all_mistakes_are_told) {
        const Config *config = config_make(arena, "20-pg.conf",
                                           "[Instance]\nMemory=x\nColour=red\nbad line\n", NULL);

        assert_text(problems_text(arena, &config->problems),
                    "/etc/hugeplan.d/20-pg.conf:4: 'bad line' is no assignment; write Key=Value\n"
                    "/etc/hugeplan.d/20-pg.conf:2: Memory: 'x' is not valid here; write a size "
                    "such as 8G, auto, or auto:64G with a bound\n"
                    "/etc/hugeplan.d/20-pg.conf:3: Colour: unknown key; hugeplan.d(5) lists the "
                    "keys; your own begin with X-");
        assert_int_equal(only_instance(config)->refusal->line, 4);
}

/* ---- whole-file refusal ---- */

TEST(broken_instance_stops_its_host) {
        const Config *config = config_make(arena, "20-pg.conf",
                                           "[Host]\nKeepFree=1G\n[Instance]\nMemory=x\n", NULL);

        assert_non_null(only_instance(config)->refusal);
        assert_true(config->host.keep_free.is_share);
        assert_int_equal(config->host.keep_free.hundredths, 1000);
}

TEST(broken_host_stops_its_instance) {
        const Config *config = config_make(arena, "20-pg.conf",
                                           "[Host]\nKeepFree=x\n[Instance]\nMemory=1G\n", NULL);
        const InstanceConfig *instance = only_instance(config);

        assert_non_null(instance->refusal);
        assert_text(instance->refusal->key, "KeepFree");
        assert_int_equal(config->problems.list.n, 1); /* told once, though read twice */
}

TEST(half_good_host_does_not_apply) {
        const Config *config = config_make(arena, "00-host.conf",
                                           "[Host]\nCompaction=no\nKeepFree=x\n", "01-more.conf",
                                           "[Host]\nReclaim=no\n", NULL);

        assert_true(config->host.may_compact);  /* of the refused file */
        assert_false(config->host.may_reclaim); /* of the other */
        assert_int_equal(config->n_instances, 0);
}

/* A contradiction is found late; the [Host] of the same file must not apply then either. */
TEST(late_refusal_stops_host) {
        const Config *config = config_make(
                arena, "20-pg.conf", "[Host]\nKeepFree=1G\n[Instance]\nMemory=1G\nPages=5\n", NULL);

        assert_non_null(only_instance(config)->refusal);
        assert_true(config->host.keep_free.is_share);
}

TEST(other_files_still_apply) {
        const Config *config = config_make(arena, "10-a.conf", "[Instance]\nMemory=1G\n",
                                           "20-pg.conf", "[Instance]\nMemory=x\n", "30-c.conf",
                                           "[Instance]\nPages=3\n", NULL);

        assert_int_equal(config->n_instances, 3);
        assert_null(config_find(config, "a")->refusal);
        assert_non_null(config_find(config, "pg")->refusal);
        assert_null(config_find(config, "c")->refusal);
        assert_null(config_find(config, "b"));
}

TEST(unreadable_file) {
        const Config *config =
                config_make(arena, "20-pg.conf", NULL, "30-c.conf", "[Instance]\nPages=3\n", NULL);

        assert_text(problems_text(arena, &config->problems),
                    "/etc/hugeplan.d/20-pg.conf: cannot be read: Permission denied; make it a "
                    "regular file of at most 64K that root can read");
        assert_non_null(config_find(config, "pg")->refusal);
        assert_null(config_find(config, "c")->refusal);
}

TEST(empty_files) {
        const Config *config =
                config_make(arena, "10-a.conf", "", "20-b.conf", "# only a comment\n\n", NULL);

        assert_int_equal(config->n_instances, 0);
        assert_int_equal(config->problems.list.n, 0);
}

TEST(salvage) {
        const Config *config = config_make(
                arena, "20-pg.conf",
                "[Instance]\nUnit=first.service\nMemory=x\nName=main\nEngine=postgresql\n", NULL);
        const InstanceConfig *instance = only_instance(config);

        assert_non_null(instance->refusal);
        assert_text(instance->unit, "first.service");
        assert_text(instance->name, "main");
        assert_text(instance->engine->name, "postgresql");
        /* A unit after the mistake, and one that is invalid itself. */
        config = config_make(arena, "20-pg.conf",
                             "[Instance]\nnonsense\nUnit=good.service\nUnit=b/d.service\n", NULL);
        assert_text(only_instance(config)->unit, "good.service");
        config = config_make(arena, "20-pg.conf", "[Instance]\nMemory=x\nUnit=bad\n", NULL);
        assert_null(only_instance(config)->unit);
        /* The engine's own unit, where it has one. */
        config = config_make(arena, "20-pg.conf", "[Instance]\nMemory=x\nEngine=mongodb\n", NULL);
        assert_text(only_instance(config)->unit, "mongod.service");
}

/* ---- NAME.conf.d ---- */

TEST(extension) {
        const Config *config = config_make(
                arena, "20-pg.conf", "[Instance]\nMemory=1G\nNodes=0\n", "20-pg.conf.d/10-a.conf",
                "[Instance]\nMemory=2G\nNodes=1\n", "20-pg.conf.d/90-b.conf",
                "[Instance]\nMemory=3G\n[Host]\nKeepFree=3G\n", NULL);
        const InstanceConfig *instance = only_instance(config);

        assert_text(problems_text(arena, &config->problems), "");
        assert_true(instance->memory_bytes == 3 * GIB);
        assert_text(id_set_format(arena, &instance->nodes), "0-1");
        assert_true(config->host.keep_free.bytes == 3 * GIB);
        assert_text(instance->file, pg_path);
}

TEST(refused_extension) {
        const Config *config = config_make(arena, "20-pg.conf",
                                           "[Instance]\nMemory=1G\nUnit=a.service\n",
                                           "20-pg.conf.d/10-a.conf", "[Instance]\nMemory=x\n",
                                           "30-b.conf", "[Instance]\nMemory=1G\n", NULL);
        const InstanceConfig *instance = config_find(config, "pg");

        assert_text(diag_format(arena, instance->refusal),
                    "/etc/hugeplan.d/20-pg.conf.d/10-a.conf:2: Memory: 'x' is not valid here; "
                    "write a size such as 8G, auto, or auto:64G with a bound");
        assert_text(instance->unit, "a.service");
        assert_null(config_find(config, "b")->refusal);
}

/* An extension may make the instance of a file that has none yet; its keys are never ignored. */
TEST(extension_makes_instance) {
        const Config *config = config_make(arena, "20-pg.conf", "[Host]\nKeepFree=1G\n",
                                           "20-pg.conf.d/a.conf",
                                           "[Instance]\nMemory=1G\nColour=red\n", NULL);

        assert_contains(problems_text(arena, &config->problems),
                        "20-pg.conf.d/a.conf:3: Colour: unknown key");
        assert_non_null(only_instance(config)->refusal);
}

TEST(orphan_extension) {
        const Config *config =
                config_make(arena, "20-pg.conf.d/a.conf", "[Instance]\nMemory=1G\n", NULL);

        assert_int_equal(config->n_instances, 0);
        assert_int_equal(diags_count(&config->problems, SEVERITY_WARNING), 1);
        assert_text(problems_text(arena, &config->problems),
                    "/etc/hugeplan.d/20-pg.conf.d/a.conf: extends 20-pg.conf, which is not there; "
                    "create that file, or remove this one");
}

/* What we have written ourselves asks nobody to do anything: it holds again when the file comes back. */
TEST(orphans_of_ours) {
        const Config *config = config_make(arena, "20-pg.conf.d/90-learned.conf",
                                           "[Instance]\nX-Exact=yes\n", NULL);

        assert_text(problems_text(arena, &config->problems), "");
}

/* ---- names ---- */

TEST(names) {
        const Config *config = config_make(
                arena, "10-a.conf", "[Instance]\nPages=1\n", "b.conf", "[Instance]\nPages=1\n",
                "007-c-d.conf", "[Instance]\nPages=1\n", "8x.conf", "[Instance]\nPages=1\n",
                "9-.conf", "[Instance]\nPages=1\n", "-x.conf", "[Instance]\nPages=1\n", NULL);

        assert_non_null(config_find(config, "a"));
        assert_non_null(config_find(config, "b"));
        assert_non_null(config_find(config, "c-d"));
        assert_non_null(config_find(config, "8x"));
        assert_text(config_find(config, "")->refusal->id, "config-bad-name");
        assert_text(config_find(config, "-x")->refusal->id, "config-bad-name");
        assert_null(config_find(config, "a")->refusal);
        for (size_t i = 1; i < config->n_instances; i++) /* sorted */
                assert_true(strcmp(config->instances[i - 1].name, config->instances[i].name) < 0);
}

TEST(duplicate_names) {
        const Config *config = config_make(arena, "10-pg.conf", "[Instance]\nPages=1\n",
                                           "20-pg.conf", "[Instance]\nPages=2\n", NULL);

        assert_int_equal(config->n_instances, 2);
        assert_null(config_find(config, "pg")->refusal);
        assert_true(page_counts_find(&config_find(config, "pg")->pages, GIB) == 1);
        assert_text(diag_format(arena, config_find(config, "20-pg")->refusal),
                    "/etc/hugeplan.d/20-pg.conf: Name: the instance 'pg' is described by "
                    "/etc/hugeplan.d/10-pg.conf already; rename one of the files, or give it a "
                    "Name= of its own");
}

/* However names collide, no two instances share one. */
TEST(names_stay_unique) {
        const Config *config = config_make(arena, "10.conf", "[Instance]\nPages=1\nName=20-b\n",
                                           "20-a.conf", "[Instance]\nPages=1\nName=q\n",
                                           "20-b.conf", "[Instance]\nPages=1\nName=q\n", "30.conf",
                                           "[Instance]\nPages=1\nName=20-b\n", NULL);

        assert_int_equal(config->n_instances, 4);
        for (size_t i = 1; i < config->n_instances; i++)
                assert_string_not_equal(config->instances[i - 1].name, config->instances[i].name);
        assert_null(config_find(config, "20-b")->refusal);
        assert_null(config_find(config, "q")->refusal);
}

TEST(name_rules) {
        assert_null(name_check_instance("pg-main_15.x:y@z"));
        assert_null(name_check_instance("9"));
        assert_non_null(name_check_instance(""));
        assert_non_null(name_check_instance(".hidden"));
        assert_non_null(name_check_instance("a/b"));
        assert_non_null(name_check_instance("a%b"));
        assert_non_null(name_check_instance("a\nb"));
        assert_null(name_check_unit("postgresql@15-main.service"));
        assert_null(name_check_unit("a\\x2db.service"));
        assert_non_null(name_check_unit("a\nb.service"));
        assert_non_null(name_check_unit("a$b.service"));
        assert_non_null(name_check_unit("a.service "));
        assert_non_null(name_check_unit(""));
        char *name = long_value_line(arena, "", 256);

        memcpy(name + 248, ".service", 8);
        assert_non_null(name_check_unit(name));
        assert_null(name_check_unit(name + 1)); /* 255 bytes */
}

/* ---- contradictions ---- */

TEST(contradictions) {
        assert_refused(arena, "[Instance]\nUnit=a.service\n",
                       "/etc/hugeplan.d/20-pg.conf: nothing says how much memory it needs; add "
                       "Memory= with a size, or Pages= with a number");
        assert_refused(arena, "[Instance]\nMemory=1G\nPages=5\n",
                       "/etc/hugeplan.d/20-pg.conf:3: Pages: the size is given twice, by Memory= "
                       "and by Pages=; keep one of the two");
        assert_refused(arena, "[Instance]\nPages=5\nNodeMemory=0:1G\n",
                       "/etc/hugeplan.d/20-pg.conf:3: NodeMemory: Pages= cannot be split by sizes; "
                       "give the sizes by NodeMemory= alone, or use Pages= with Nodes=");
        assert_refused(arena, "[Instance]\nNodeMemory=0:1G 1:1G\nNodes=0\n",
                       "/etc/hugeplan.d/20-pg.conf:2: NodeMemory: node 1 is not among Nodes=; name "
                       "the same nodes in both, or leave Nodes= out");
        assert_refused(arena, "[Instance]\nNodeMemory=0:1G 1:1G\nMemory=3G\n",
                       "/etc/hugeplan.d/20-pg.conf:2: NodeMemory: the nodes add up to 2G, but "
                       "Memory= is 3G; make the sums equal, or leave Memory= out");
        assert_refused(arena, "[Instance]\nMemory=1G\nPlacement=bind\n",
                       "/etc/hugeplan.d/20-pg.conf:3: Placement: 'bind' needs to know the nodes; "
                       "name them by Nodes= or NodeMemory=");
        assert_refused(arena, "[Instance]\nMemory=1G\nPlacement=bind\nNodes=all\n",
                       "/etc/hugeplan.d/20-pg.conf:3: Placement: 'bind' needs to know the nodes; "
                       "name them by Nodes= or NodeMemory=");
        assert_refused(arena, "[Instance]\nEngine=redis\nMemory=1G\n",
                       "/etc/hugeplan.d/20-pg.conf:2: Engine: Redis uses no reserved huge pages; "
                       "leave Memory=, Pages= and NodeMemory= out");
}

TEST(agreements) {
        const Config *config = config_make(
                arena, "10-a.conf", "[Instance]\nMemory=2G\nNodeMemory=0:1G 1:1G\nNodes=0-1\n",
                "20-b.conf", "[Instance]\nNodeMemory=0:1G\nPlacement=bind\n", "30-c.conf",
                "[Instance]\nEngine=redis\n", NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(config->n_instances, 3);
}

/* The file and line of the contradiction are those of the extension that brought it. */
TEST(contradiction_in_extension) {
        const Config *config = config_make(arena, "20-pg.conf", "[Instance]\nMemory=1G\n",
                                           "20-pg.conf.d/a.conf", "# x\n# y\n[Instance]\nPages=5\n",
                                           NULL);

        assert_text(problems_text(arena, &config->problems),
                    "/etc/hugeplan.d/20-pg.conf.d/a.conf:4: Pages: the size is given twice, by "
                    "Memory= and by Pages=; keep one of the two");
        assert_non_null(only_instance(config)->refusal);
}
