/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stories (support/story.h) with a host, configuration and files as input and a text as result.
 *
 *     file PATH TEXT | link PATH TARGET | unreadable PATH                 adds or replaces a file of the host
 *     no-file PATH | no-files                                             removes one, or all
 *     conf NAME TEXT | no-config | config a Pages=10; b Pages=1           /etc/hugeplan.d; config_line()
 *     host TEXT | release 5.10.0 | booted numa=off                        host_make(); the kernel's release and line
 *     no-group | memory-nodes 0-1 | systemd 260                           of DropinInput; at first there is a group
 *     demand, dropins, dropin, advice, line, remedy, unit, conflicts      results; others: sysctl, tmpfiles...
 */

#include "base/size.h"
#include "check/kernel_args.h"
#include "check/rules.h"
#include "read/unit_file.h"
#include "support/setting_sources.h"
#include "support/sources.h"
#include "support/story.h"
#include "units/dropin.h"
#include "units/loaded_unit.h"

enum { FILES_MAX = 16 };

typedef struct Texts {
        Arena *arena;
        TestFile files[FILES_MAX];
        const char *names[FILES_MAX], *texts[FILES_MAX];
        size_t n_texts;
        const char *config_line;
        const char *host, *release, *booted;
        bool has_no_group;
        const char *memory_nodes;
        uint64_t systemd_version;
} Texts;

#define VERB(name, words) STORY_VERB(name, words, Texts, texts)

/* ---- what there is ---- */

VERB(do_file, "file link unreadable no-file") {
        return story_change_files(line, texts->files, FILES_MAX);
}

VERB(do_conf, "conf") {
        size_t i = 0;

        while (i < texts->n_texts &&
               !text_equals(texts->names[i], story_unescape(line->arena, line->words[1])))
                i++;
        texts->n_texts = MAX(texts->n_texts, i + 1);
        assert_uint_in_range(texts->n_texts, 1, FILES_MAX);
        texts->names[i] = story_unescape(line->arena, line->words[1]);
        texts->texts[i] = story_text(line, 1);
        return NULL;
}

VERB(do_set, "no-files no-config config host release booted no-group group memory-nodes systemd") {
        if (text_equals(line->words[0], "host"))
                texts->host = story_text(line, 0);
        else if (text_equals(line->words[0], "release"))
                texts->release = text_equals(line->words[1], "-") ? NULL : line->words[1];
        else if (text_equals(line->words[0], "booted"))
                texts->booted = line->rest;
        else if (text_equals(line->words[0], "memory-nodes"))
                texts->memory_nodes = line->words[1];
        else if (text_equals(line->words[0], "systemd"))
                texts->systemd_version = story_number_at(line, 1);
        else if (text_ends_with(line->words[0], "group"))
                texts->has_no_group = text_equals(line->words[0], "no-group");
        else if (text_equals(line->words[0], "config"))
                texts->config_line = line->rest;
        else if (text_equals(line->words[0], "no-files"))
                memset(texts->files, 0, sizeof(texts->files));
        else {
                texts->n_texts = 0;
                texts->config_line = NULL;
        }
        return NULL;
}

static Config *config_of(const Texts *texts) {
        return texts->config_line ? config_line(texts->arena, "%s", texts->config_line)
                                  : config_make_files(texts->arena, texts->names, texts->texts,
                                                      texts->n_texts);
}

static Topology *topology_of(const Texts *texts) {
        Topology *topology = host_make(texts->arena, texts->host);

        if (texts->release)
                topology->kernel_release = texts->release;
        topology->kernel_command_line = texts->booted;
        return topology;
}

/* ---- demand and drop-ins ---- */

/* The demand of an instance: its nodes, and for each page size the pages. */
static const char *demand_text(Arena *arena, const DemandInstance *demand) {
        Text text = text_in(arena);

        text_printf(&text, "nodes=%s policy=%d:%s", id_set_format(arena, &demand->nodes),
                    (int) demand->policy.kind, id_set_format(arena, &demand->policy.nodes));
        if (demand->reason.kind != REASON_NONE)
                text_printf(&text, "; %s: %s; %s", reason_id(demand->reason.kind),
                            demand->reason.text, demand->reason.remedy);
        for (size_t i = 0; i < demand->n_options; i++) {
                const DemandOption *option = &demand->options[i];

                text_printf(&text, "; %" PRIu64 " of %s%s, %" PRIu64 " bytes in %zu steps",
                            option->pages, format_page_size(arena, option->page_size_bytes),
                            option->sizing.is_exact ? " exactly" : "", option->sizing.bytes,
                            (size_t) option->sizing.steps.n);
                VEC_FOREACH(part, &option->split)
                        text_printf(&text, " %u:%" PRIu64, part->node, part->pages);
        }
        return text_string(&text);
}

VERB(do_demand, "demand") {
        const Demand *demand =
                demand_compute(line->arena, config_of(texts), topology_of(texts), NULL);

        for (size_t i = 0; i < demand->n_instances; i++)
                if (text_equals(demand->instances[i].config->name, line->words[1]))
                        return demand_text(line->arena, &demand->instances[i]);
        return NULL;
}

static DropinInput dropin_input(Arena *arena, const Texts *texts) {
        DropinInput input = {.config = config_of(texts),
                             .ctl = "/usr/bin/hugeplanctl",
                             .has_group = !texts->has_no_group,
                             .systemd_version = (unsigned) texts->systemd_version};
        IdSet *nodes = ARENA_NEW(arena, IdSet);

        if (texts->memory_nodes) {
                assert_int_equal(id_set_parse(texts->memory_nodes, nodes), 0);
                input.memory_nodes = nodes;
        }
        return input;
}

/* "dropins": the units; "dropin UNIT": the text, which has expected lines only. */
VERB(do_dropin, "dropins dropin") {
        const DropinInput input = dropin_input(line->arena, texts);
        const Dropins dropins = dropins_make(line->arena, &input);
        const SourceNames units = dropin_units(line->arena, input.config);
        Text names = text_in(line->arena);

        assert_int_equal(units.n, dropins.n);
        for (size_t i = 0; i < dropins.n; i++) {
                assert_text(units.items[i], dropins.items[i].unit);
                assert_null(dropin_odd_line(line->arena, dropins.items[i].text, input.ctl));
                assert_null(strpbrk(dropins.items[i].text, "\r\x7f\x01"));
                if (text_equals(dropins.items[i].unit, line->words[1]))
                        return dropins.items[i].text;
                text_add_word(&names, dropins.items[i].unit);
        }
        return line->words[1] ? NULL : text_string(&names);
}

VERB(do_odd_line, "odd-line") {
        return dropin_odd_line(line->arena, story_text(line, 0), "/usr/bin/hugeplanctl");
}

/* UNIT TEXT: whether this drop-in is outdated now. */
VERB(do_outdated, "outdated") {
        const DropinInput now = dropin_input(line->arena, texts);

        const Dropins dropins = dropins_make(line->arena, &now);
        const Dropin *made = VEC_FIND(dropin, &dropins, text_equals(dropin->unit, line->words[1]));

        return story_yes(made && dropin_is_outdated(made, story_text(line, 1)));
}

/* ---- kernel command lines ---- */

/* The pages that the kernel takes from a line, then severity and id of each problem. */
static const char *line_text(Arena *arena, const KernelLine *line) {
        Text text = text_in(arena);

        VEC_FOREACH(pages, &line->pages) {
                text_printf(&text, "%s=", format_page_size(arena, pages->page_size_bytes));
                if (pages->nodes.n == 0)
                        text_printf(&text, "%" PRIu64, pages->pages);
                VEC_FOREACH(here, &pages->nodes)
                        text_printf(&text, "%s%u:%" PRIu64, here > pages->nodes.items ? "," : "",
                                    here->node, here->pages);
                text_add(&text, " ");
        }
        VEC_FOREACH(problem, &line->problems.list)
                text_printf(&text, "%c:%s ", *severity_name(problem->severity),
                            problem->id + strlen("cmdline-"));
        return text_strip(arena, text_string(&text));
}

VERB(do_line, "line remedy") {
        const KernelLine *read =
                kernel_line_read(line->arena, line->rest, "/proc/cmdline", topology_of(texts));

        if (text_equals(line->words[0], "line"))
                return line_text(line->arena, read);
        return read->problems.list.n > 0 ? read->problems.list.items[0].remedy : NULL;
}

/* "VERDICT: WANTED; -FROM +TO; ?UNCLEAR; problems". */
static const char *advice_text(Arena *arena, const KernelAdvice *advice) {
        Text text = text_in(arena);

        text_printf(&text, "%s: %s", kernel_verdict_names[advice->verdict], advice->wanted);
        VEC_FOREACH(change, &advice->changes) {
                text_add(&text, ";");
                if (change->from)
                        text_printf(&text, " %c%s", change->is_unclear ? '?' : '-', change->from);
                if (change->to)
                        text_printf(&text, " +%s", change->to);
        }
        VEC_FOREACH(problem, &advice->problems.list)
                text_printf(&text, "; %c:%s", *severity_name(problem->severity), problem->id);
        return text_string(&text);
}

/* For the present command line. "present": its part about huge pages; "advice-problems": the messages. */
VERB(do_advice, "advice present advice-problems") {
        const Config *config = config_of(texts);
        Topology *topology = topology_of(texts);
        const Topology *boot = kernel_args_boot_topology(line->arena, topology);

        topology->kernel_command_line = *line->rest ? story_text(line, 0) : NULL;
        KernelAdvice *advice = kernel_args_advise(line->arena, config, topology,
                                                  plan_simple(line->arena, config, boot));

        if (text_equals(line->words[0], "present"))
                return advice->present;
        return text_equals(line->words[0], "advice")
                       ? advice_text(line->arena, advice)
                       : problems_text(line->arena, &advice->problems);
}

static uint64_t bytes_at(const StoryLine *line, size_t i) {
        uint64_t bytes;

        assert_int_equal(parse_size_bytes(line->words[i], &bytes), 0);
        return bytes;
}

/* BASE-PAGE DEFAULT-PAGE [LINE]: the size of pages that a page table of the second level maps; 0: not known. */
VERB(do_pmd, "pmd") {
        Topology *topology = topology_of(texts);

        topology->base_page_bytes = bytes_at(line, 1);
        topology->default_page_size_bytes = bytes_at(line, 2);
        topology->kernel_command_line = line->words[3];
        uint64_t bytes = kernel_line_pmd_bytes(topology);

        return bytes > 0 ? format_page_size(line->arena, bytes) : "0";
}

/* BASE-PAGE SIZES: whether a host with these sizes is a POWER. */
VERB(do_power, "power") {
        Topology *topology =
                host_printf(line->arena, "sizes %s\nnode 0 total=64G\n", story_text(line, 1));

        topology->base_page_bytes = bytes_at(line, 1);
        return story_yes(kernel_is_power(topology));
}

/* "31, then 'g'" */
VERB(do_number, "number") {
        const char *rest = NULL;
        uint64_t number = 0;
        int r = kernel_number_parse(story_text(line, 0), &number, &rest);

        if (r == 0)
                return arena_printf(line->arena, "%" PRIu64 ", then '%s'", number, rest);
        assert_true(number == 0 && !rest);
        return strerrorname_np(-r);
}

/* ---- units ---- */

/* "NAME in FRAGMENT; SECTION.KEY=VALUE | VALUE (FILE:LINE of the last); ...". */
static const char *unit_text(Arena *arena, const UnitFile *unit) {
        Text text = text_in(arena);

        text_printf(&text, "%s in %s%s", unit->name,
                    unit->fragment_path ? unit->fragment_path : "-",
                    unit->is_masked ? ", masked" : "");
        VEC_FOREACH(assignment, &unit->assignments) {
                const UnitAssignments all =
                        unit_file_list(unit, assignment->section, assignment->key);
                const UnitAssignment *last =
                        unit_file_find(unit, assignment->section, assignment->key);

                if (VEC_ANY(before, &unit->assignments,
                            before < assignment &&
                                    text_equals(before->section, assignment->section) &&
                                    text_equals(before->key, assignment->key)))
                        continue;
                text_printf(&text, "; %s.%s=", assignment->section, assignment->key);
                VEC_FOREACH(one, &all)
                        text_printf(&text, "%s%s", one == all.items ? "" : " | ", (*one)->value);
                if (last)
                        text_printf(&text, " (%s:%u)", last->file, last->line);
                else
                        text_add(&text, " (reset)");
        }
        return text_string(&text);
}

static const Sources *sources_of(Arena *arena, const Texts *texts) {
        return test_sources(arena, texts->files, test_files_count(texts->files, FILES_MAX));
}

static UnitFile *unit_at(const StoryLine *line, const Texts *texts) {
        return unit_file_read(line->arena, sources_of(line->arena, texts),
                              line->words[1] ? line->words[1] : "");
}

VERB(do_unit, "unit") {
        return unit_text(line->arena, unit_at(line, texts));
}

static const char *join(Arena *arena, SourceNames words) {
        Text text = text_in(arena);

        VEC_FOREACH(word, &words)
                text_printf(&text, "%s%s", word == words.items ? "" : "|", *word);
        return text_string(&text);
}

/* UNIT LINE: the words of a command line. */
VERB(do_command, "command") {
        return join(line->arena, unit_file_command(unit_at(line, texts), story_text(line, 1)));
}

/* UNIT NAME: "VALUE (FILE:LINE)" */
VERB(do_environment, "environment") {
        const char *origin = "untouched";
        const char *value = unit_file_environment(unit_at(line, texts), line->words[2], &origin);

        assert_true(value || text_equals(origin, "untouched"));
        return value ? arena_printf(line->arena, "%s (%s)", value, origin) : NULL;
}

/* PATTERN: the units whose names match. */
VERB(do_unit_names, "unit-names") {
        return join(line->arena,
                    unit_file_names(line->arena, sources_of(line->arena, texts), line->words[1]));
}

/* UNIT: what starts it. */
VERB(do_starters, "starters") {
        const Index *starters = unit_file_starters(line->arena, sources_of(line->arena, texts));
        SourceNames names = {};

        INDEX_FOREACH(entry, starters, line->words[1])
                *vec_push(line->arena, &names) = entry->value;
        return join(line->arena, names);
}

static LoadedUnits load(Arena *arena, const Config *config, const Sources *sources) {
        LoadedUnits units = {};

        for (size_t i = 0; i < config->n_instances; i++) {
                const char *name = config->instances[i].unit;

                if (name)
                        *vec_push(arena, &units) = unit_search_loaded(
                                arena, name, unit_file_read(arena, sources, name));
        }
        return units;
}

/* Findings of `check` about the units of instances; "match daemon": those of the daemon. */
VERB(do_match, "match") {
        Arena *arena = line->arena;
        const Config *config = config_of(texts);
        const Sources *sources = sources_of(arena, texts);
        const UnitSearch search = unit_search(sources);
        LoadedUnits units = load(arena, config, sources);
        Diags problems = diags_in(arena);
        bool is_asked = !line->words[1];

        assert_text(problems_text(arena, &config->problems), "");
        const LoadedUnitInput input = {
                .config = config,
                .plan = plan_simple(arena, config,
                                    host_make(arena, "sizes 1G 2M\nnode 0 total=64G free=62G\n")),
                .search = is_asked ? &search : NULL,
        };

        VEC_FOREACH(unit, &units)
                loaded_unit_judge_state(config, input.search, unit, &problems);
        unit_match_judge(arena, &input, &units, &problems);
        return problems_text(arena, &problems);
}

/* ---- who else sets what hugeplan manages ---- */

static SettingSources *setting_sources_of(Arena *arena, const Topology *topology,
                                          const char *source, const char *path, const char *text) {
        return setting_sources_make(arena, topology,
                                    &(SettingSourceFile){.source = setting_source_named(source),
                                                         .path = path,
                                                         .runs = "cron runs it",
                                                         .text = {text, strlen(text)}},
                                    1);
}

VERB(do_setting, "sysctl tmpfiles tuned command-line script sysfs") {
        const Topology *topology = host_make(line->arena,
                                             "sizes 1G 2M\nnode 0 total=64G free=60G 2M=10\n"
                                             "node 1 total=64G free=60G 2M=30 1G=2\n"
                                             "thp never 64K=inherit 2M=inherit\n");

        return setting_sources_text(line->arena,
                                    setting_sources_of(line->arena, topology, line->words[0],
                                                       "/etc/x", story_text(line, 0)));
}

/* "conflicts SOURCE TEXT": entries that contradict the plan; "conflict-texts SOURCE PATH TEXT": the messages. */
VERB(do_conflicts, "conflicts conflict-texts") {
        bool has_texts = text_equals(line->words[0], "conflict-texts");
        const Topology *topology = host_make(line->arena, "sizes 1G 2M\nnode 0 total=64G free=60G\n"
                                                          "thp never 64K=inherit 2M=inherit\n");
        const Config *config = config_of(texts);
        Diags ignored = diags_in(line->arena), problems = diags_in(line->arena);
        ThpPlan thp = thp_plan_make(line->arena, config, topology, 0, &ignored);
        const HostView view = {
                .config = config,
                .topology = topology,
                .plan = plan_simple(line->arena, config, topology),
                .thp = &thp,
                .setting_sources = setting_sources_of(line->arena, topology, line->words[1],
                                                      has_texts ? line->words[2] : "/etc/x",
                                                      story_text(line, has_texts ? 2 : 1)),
        };
        Text text = text_in(line->arena);

        conflicts_add(line->arena, &view, &problems);
        VEC_FOREACH(problem, &problems.list)
                text_printf(&text, "%s%s:%s%s%s", text.length > 0 ? " " : "",
                            severity_name(problem->severity), problem->id, has_texts ? " " : "",
                            has_texts ? diag_format(line->arena, problem) : "");
        return text_string(&text);
}

STORY_TEST(dropin, "unit/units/dropin", .size = sizeof(Texts))
STORY_TEST(demand, "unit/demand/demand", .size = sizeof(Texts))
STORY_TEST(kernel_args, "unit/check/kernel_args", .size = sizeof(Texts))
STORY_TEST(setting_source, "unit/read/setting_source", .size = sizeof(Texts))
STORY_TEST(unit_file, "unit/read/unit_file", .size = sizeof(Texts))
STORY_TEST(commands, "unit/read/commands", .size = sizeof(Texts))
STORY_TEST(unit_match, "unit/units/unit_match", .size = sizeof(Texts))

/* A node may lack the directory of a size, like nodes without memory. */
TEST(kernel_args_of_node_without_pool) {
        Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=64G free=60G\n"
                                              "node 1 total=64G free=60G\n");
        const Config *config = config_line(arena, "20-a Unit=a.service PageSize=1G Memory=2G");
        const Plan *plan = plan_simple(arena, config, kernel_args_boot_topology(arena, topology));

        topology->nodes[1].pools[0].exists = false;
        topology->kernel_command_line = "quiet";
        const KernelAdvice *advice = kernel_args_advise(arena, config, topology, plan);

        assert_int_equal(advice->pools.n, 2);
        assert_int_equal(advice->pools.items[1].node, 1);
        assert_int_equal(advice->pools.items[1].found_pages, 0);
}
