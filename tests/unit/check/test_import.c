/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pages that other settings would leave in the pools, and how many of them become instances'. */

#include "check/import.h"
#include "engines/engine.h"
#include "support/setting_sources.h"
#include "support/story.h"

enum { FILES_MAX = 4 };

static const char host[] = "sizes 1G 2M\nnode 0 total=64G free=60G\nnode 1 total=64G free=60G\n";

/* ---- import.stories ---- */

typedef struct Story {
        Arena *arena;
        const Topology *host;
        SettingSourceFile files[FILES_MAX];
        size_t n;
        uint64_t our_pages; /* of node 0, which hugeplan has added */
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static void begin_story(void *context) {
        Story *story = context;

        story->host = host_make(story->arena, host);
}

VERB(do_host, "host") {
        story->host = host_make(line->arena, story_text(line, 0));
        return NULL;
}

/* SOURCE PATH TEXT */
VERB(do_file, "file") {
        const char *text = story_text(line, 2);

        assert_true(story->n < FILES_MAX);
        story->files[story->n++] =
                (SettingSourceFile){.source = setting_source_named(line->words[1]),
                                    .path = line->words[2],
                                    .text = {text, strlen(text)}};
        return NULL;
}

VERB(do_no_files, "no-files") {
        story->n = 0;
        return NULL;
}

VERB(do_ours, "ours") {
        story->our_pages = story_number_at(line, 1);
        return NULL;
}

/* "2M 30: 0:10 1:20 by node, unexplained": what the settings would leave in the pools. */
VERB(do_pages, "pages") {
        const uint64_t present = topology_pool(story->host, 0, 2 * MIB)->total_pages;
        PlanPool ours = {.page_size_bytes = 2 * MIB,
                         .found_pages = sub_floored(present, story->our_pages)};
        const Plan plan = {.pools = &ours, .n_pools = 1};
        const SetPagesList list = set_pages_find(
                line->arena,
                &(HostView){.topology = story->host,
                            .plan = story->our_pages > 0 ? &plan : NULL,
                            .setting_sources = setting_sources_make(line->arena, story->host,
                                                                    story->files, story->n)});
        Text text = text_in(line->arena);

        VEC_FOREACH(set, &list)
                text_printf(&text, "%s%s %" PRIu64 ": 0:%" PRIu64 " 1:%" PRIu64 "%s%s",
                            text.length > 0 ? "; " : "",
                            format_page_size(line->arena, set->page_size_bytes), set->pages,
                            set->node_pages[0], set->node_pages[1],
                            set->is_by_node ? " by node" : "",
                            set->is_unexplained ? ", unexplained" : "");
        return text_string(&text);
}

STORY_TEST(stories, "unit/check/import", .size = sizeof(Story), .begin = begin_story)

/* ---- files ---- */

/* An instance with a size, a database that was found, and the rest by the nodes' shares. */
TEST(rest) {
        const Topology *topology = host_make(arena, host);
        const Config *config = config_line(arena, "20-a Pages=30");
        static const char text[] =
                "w /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages "
                "- - - - 300\n"
                "w /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages "
                "- - - - 100";
        const SettingSourceFile setting = {.source = SETTING_SOURCE_TMPFILES,
                                           .path = "/etc/tmpfiles.d/a.conf",
                                           .text = {text, strlen(text)}};
        Suggestions suggestions = {};
        HostFacts facts = {};
        PageUsers users = {};

        *vec_push(arena, &suggestions) = (Suggestion){.engine = engine_find("mariadb"),
                                                      .unit = "mariadb.service",
                                                      .path = "/etc/hugeplan.d/20-mariadb.conf",
                                                      .text = "[Instance]\n",
                                                      .pages = 69};
        *vec_push(arena, &suggestions) =
                (Suggestion){.engine = engine_find("mysql"), .why_not = "no", .pages = 1000};
        *vec_push(arena, &users.list) = (PageUser){.unit = "mariadb.service",
                                                   .command = "mariadbd",
                                                   .page_size_bytes = 2 * MIB,
                                                   .pages = 60};
        *vec_push(arena, &users.list) = (PageUser){
                .unit = "vm.scope", .command = "qemu", .page_size_bytes = 2 * MIB, .pages = 40};
        const HostView input = {
                .config = config,
                .plan = plan_simple(arena, config, topology),
                .topology = topology,
                .setting_sources = setting_sources_make(arena, topology, &setting, 1),
                .facts = &facts,
                .page_users = &users,
                .history = &(HistoryEntries){},
                .suggestions = &suggestions,
        };
        const Import import = import_make(arena, &input);

        assert_int_equal(import.files.n, 2);
        assert_text(import.files.items[0].text, "[Instance]\n");
        assert_text(import.files.items[1].path, "/etc/hugeplan.d/90-other-programs.conf");
        /* 301 pages: 75 and 225 by shares of 1 and 3, and one left by the division. */
        assert_contains(import.files.items[1].text, "NodeMemory=0:452M 1:150M\n");
        assert_contains(import.files.items[1].text, "vm.scope");
        assert_null(strstr(import.files.items[1].text, "mariadbd"));
        assert_int_equal(import.pages.items[0].known_pages, 99);
        assert_int_equal(import.pages.items[0].rest_pages, 301);
        assert_int_equal(import.lines.n, 2);
        assert_text(import_action_names[import.lines.items[0].action], "remove");

        /* Users on a node keep their pages; of pages beyond the setting, all. */
        users.list.items[1].pages = 330;
        pages_add_on(arena, &users.list.items[1].nodes, 1, 330);
        const Import more = import_make(arena, &input);

        /* An instance without a unit may own the pages: 30 are described. */
        assert_int_equal(more.pages.items[0].rest_pages, 301);
        assert_contains(more.files.items[1].text, "NodeMemory=1:602M\n");
}
