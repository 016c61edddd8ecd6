/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Configuration: every key, every kind of mistake, and what a mistake may not affect. */

#include "base/size.h"
#include "config/config_keys.h"
#include "model/name_check.h"
#include "support/story.h"

/* ---- config.stories ---- */

enum { FILES_MAX = 8 };

static const char *or_dash(const char *text) {
        return text ? text : "-";
}

static const char *host_text(Arena *arena, const HostConfig *host) {
        Text text = text_in(arena);

        text_printf(&text,
                    "thp=%s keep-free=%s auto-memory=%s compact=%d reclaim=%d drop-caches=%d "
                    "boot-timeout=%" PRIu64 " reserve-timeout=%" PRIu64
                    " existing=%s drift=%s shm-limits=%s",
                    thp_policy_name(host->thp), amount_format(arena, &host->keep_free),
                    amount_format(arena, &host->auto_memory), host->may_compact, host->may_reclaim,
                    host->may_drop_caches, host->boot_timeout_usec, host->reserve_timeout_usec,
                    host->existing_pages == EXISTING_KEEP ? "keep" : "use",
                    host->on_drift == DRIFT_REPORT ? "report" : "repair",
                    host->keep_shared_memory_limits ? "keep" : "set");
        VEC_FOREACH(rule, &host->silenced)
                text_printf(&text, " silenced=%s(%s:%u)", rule->id, rule->file, rule->line);
        return text_string(&text);
}

/* Sizes in bytes, times in microseconds. */
static const char *instance_text(Arena *arena, const InstanceConfig *instance) {
        static const char *const kinds[] = {"unset", "auto", "bytes"};
        static const char *const tri[] = {"auto", "no", "yes"};
        static const char *const shared[] = {"engine", "mmap", "sysv", "hugetlbfs"};
        Text text = text_in(arena);

        if (instance->refusal) {
                text_printf(&text, "refused (%s, %s): %s; file=%s unit=%s engine=%s",
                            instance->refusal->id, or_dash(instance->refusal->key),
                            diag_format(arena, instance->refusal), instance->file,
                            or_dash(instance->unit),
                            instance->engine ? instance->engine->name : "-");
                return text_string(&text);
        }
        text_printf(&text, "file=%s engine=%s unit=%s memory=%s:%" PRIu64, instance->file,
                    instance->engine->name, or_dash(instance->unit), kinds[instance->memory_kind],
                    instance->memory_bytes);
        VEC_FOREACH(count, &instance->pages)
                text_printf(&text, " pages=%" PRIu64 ":%" PRIu64, count->page_size_bytes,
                            count->pages);
        for (size_t i = 0; i < instance->n_page_sizes; i++)
                text_printf(&text, " size=%" PRIu64, instance->page_sizes[i]);
        text_printf(&text, " nodes=%s placement=%s",
                    instance->has_nodes ? id_set_format(arena, &instance->nodes) : "all",
                    placement_names[instance->placement]);
        for (size_t i = 0; i < instance->n_node_memory; i++)
                text_printf(&text, " node-memory=%u:%" PRIu64, instance->node_memory[i].node,
                            instance->node_memory[i].bytes);
        text_printf(&text,
                    " shortage=%s priority=%u wait=%" PRIu64
                    " thp=%s isolate=%s shared=%s user=%s data=%s mount=%s",
                    shortage_names[instance->shortage], instance->priority,
                    instance->wait_timeout_usec, thp_policy_name(instance->thp),
                    tri[instance->isolate], shared[instance->shared_memory],
                    or_dash(instance->user), or_dash(instance->data_directory),
                    instance->mount ? instance->mount->path : "-");
        return text_string(&text);
}

/* "error config-bad-value of Memory; ...": with a remedy each. */
static const char *ids_text(Arena *arena, const Config *config) {
        static const char *const severities[] = {[SEVERITY_NOTICE] = "notice",
                                                 [SEVERITY_WARNING] = "warning",
                                                 [SEVERITY_ERROR] = "error"};
        Text text = text_in(arena);

        VEC_FOREACH(problem, &config->problems.list) {
                assert_non_null(problem->remedy);
                text_printf(&text, "%s%s %s of %s", text.length > 0 ? "; " : "",
                            severities[problem->severity], problem->id, or_dash(problem->key));
        }
        return text_string(&text);
}

static const char *origins_text(Arena *arena, const InstanceConfig *instance) {
        Text text = text_in(arena);

        VEC_FOREACH(origin, &instance->origins)
                text_printf(&text, "%s%s=%s (%s:%u)", text.length > 0 ? "; " : "", origin->key,
                            origin->value, origin->file, origin->line);
        return text_string(&text);
}

/* In the order in which they are read. */
typedef struct Files {
        Arena *arena;
        const char *names[FILES_MAX], *texts[FILES_MAX];
        size_t n;
        const Config *config; /* NULL: not read yet */
} Files;

#define VERB(name, words) STORY_VERB(name, words, Files, files)

VERB(do_file, "file unreadable") {
        assert_uint_in_range(files->n, 0, FILES_MAX - 1);
        files->names[files->n] = line->words[1];
        files->texts[files->n++] = text_equals(line->words[0], "unreadable") ? NULL
                                                                             : story_text(line, 1);
        return NULL;
}

VERB(do_ask, "problems problem-ids instances instance origins host") {
        Arena *arena = line->arena;
        const char *what = line->words[0];

        if (!files->config)
                files->config = config_make_files(arena, files->names, files->texts, files->n);
        const InstanceConfig *instance = line->words[1] ? config_find(files->config, line->words[1])
                                                        : NULL;

        if (text_equals(what, "problems"))
                return problems_text(arena, &files->config->problems);
        if (text_equals(what, "problem-ids"))
                return ids_text(arena, files->config);
        if (text_equals(what, "instances")) {
                Text text = text_in(arena);

                for (size_t i = 0; i < files->config->n_instances; i++)
                        text_printf(&text, "%s'%s'", i > 0 ? " " : "",
                                    files->config->instances[i].name);
                return text_string(&text);
        }
        if (text_equals(what, "host"))
                return host_text(arena, &files->config->host);
        return text_equals(what, "origins") ? origins_text(arena, instance)
                                            : instance_text(arena, instance);
}

static const InstanceConfig *only_instance(const Config *config) {
        assert_int_equal(config->n_instances, 1);
        return &config->instances[0];
}

/* One file with this text, in the story for itself: accepted, and what it sets; or refused for a single mistake, with its
 * instance, and without changing a setting of the host. */
VERB(do_single, "accepted refused") {
        Arena *arena = line->arena;
        const Config *config =
                config_make(arena, "20-pg.conf", story_unescape(arena, line->rest), NULL);
        const InstanceConfig *instance = strstr(line->rest, "[Instance]") ? only_instance(config)
                                                                          : NULL;
        const char *message = problems_text(arena, &config->problems);

        if (text_equals(line->words[0], "accepted")) {
                assert_text(message, "");
                return instance ? instance_text(arena, instance) : host_text(arena, &config->host);
        }
        assert_int_equal(config->n_instances, instance != NULL);
        assert_int_equal(config->problems.list.n, 1);
        const Diag *problem = &config->problems.list.items[0];

        assert_int_equal(problem->severity, SEVERITY_ERROR);
        assert_non_null(problem->remedy);
        assert_text(host_text(arena, &config->host),
                    host_text(arena, &config_make(arena, NULL)->host));
        if (instance)
                assert_text(instance_text(arena, instance),
                            arena_printf(arena,
                                         "refused (%s, %s): %s; file=/etc/hugeplan.d/20-pg.conf "
                                         "unit=- engine=generic",
                                         problem->id, or_dash(problem->key), message));
        return arena_printf(arena, "%s of %s: %s", problem->id, or_dash(problem->key), message);
}

/* What is wrong with a name. */
VERB(do_name, "instance-name unit-name") {
        const char *name = story_text(line, 0);

        return text_equals(line->words[0], "unit-name") ? name_check_unit(name)
                                                        : name_check_instance(name);
}

STORY_TEST(files, "unit/config/config", .size = sizeof(Files))

/* ---- texts that no story can have ---- */

static const char pg_path[] = "/etc/hugeplan.d/20-pg.conf";

/* One instance file with these lines after the header; line 3 is the first of them. */
static Config *instance_with(Arena *arena, const char *lines) {
        return config_make(arena, "20-pg.conf",
                           arena_printf(arena, "[Instance]\nMemory=1G\n%s\n", lines), NULL);
}

static const InstanceConfig *valid_instance(Arena *arena, const char *lines) {
        const Config *config = instance_with(arena, lines);
        const InstanceConfig *instance = only_instance(config);

        assert_text(problems_text(arena, &config->problems), "");
        assert_null(instance->refusal);
        return instance;
}

static const HostConfig *valid_host(Arena *arena, const char *lines) {
        const Config *config = config_make(arena, "00-host.conf",
                                           arena_printf(arena, "[Host]\n%s\n", lines), NULL);

        assert_text(problems_text(arena, &config->problems), "");
        return &config->host;
}

/* The text has one mistake with this message, which refuses the instance. */
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

/* The gate must give up before systemd's start timeout of 90s kills it. */
TEST(wait_timeout_default) {
        const InstanceConfig *instance = valid_instance(arena, "");

        assert_true(instance->wait_timeout_usec <= 90 * USEC_PER_SEC);
}

/* ---- good values ---- */

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

/* ---- the table of keys ---- */

/* Every key of the table has a setter and a remedy, and its setter accepts its default. */
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

/* ---- lines ---- */

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
        /* Spaces around the setting do not count. */
        Text padded = text_in(arena);

        text_repeat(&padded, ' ', 300);
        text_add(&padded, "Priority=6");
        text_repeat(&padded, ' ', 300);
        assert_int_equal(valid_instance(arena, padded.string)->priority, 6);
}

/* A value is used as a whole or refused, whatever the length of its line. */
TEST(no_line_is_cut) {
        for (size_t length = 8250; length < 8350; length++) {
                char *line = long_value_line(arena, "Memory=1G\nUnit=", length);
                const Config *config = config_make(
                        arena, "20-pg.conf", arena_printf(arena, "[Instance]\n%s\n", line), NULL);
                const InstanceConfig *instance = only_instance(config);

                assert_non_null(instance->refusal); /* the name does not end in .service */
                assert_null(instance->unit);
        }
}

TEST(nul_bytes) {
        static const char text[] = "[Instance]\nMemory=1G\0\nPriority=9\n";
        const Config *config = config_make_bytes(arena, "20-pg.conf", text, sizeof(text) - 1);

        assert_contains(problems_text(arena, &config->problems),
                        "20-pg.conf:2: the line contains a NUL byte; write plain text");
        assert_non_null(only_instance(config)->refusal);
}

/* ---- names ---- */

TEST(long_name) {
        char *name = long_value_line(arena, "", 256);

        memcpy(name + 248, ".service", 8);
        assert_non_null(name_check_unit(name));
        assert_null(name_check_unit(name + 1)); /* 255 bytes */
}
