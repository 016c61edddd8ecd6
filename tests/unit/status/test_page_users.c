/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* page_users.stories: texts of the kernel, and the rows that are made of them. "parent" and "child" are numa_maps of a
 * 6.18 kernel, of a process with all kinds of huge mappings and of its child. */

#include "base/size.h"
#include "render/views.h"
#include "status/page_users.h"
#include "status/proof.h"
#include "support/story.h"

#define HOST "sizes 1G 2M\nnode 0 total=16G free=8G 2M=40/34\n"

static const char maps_text[] =
        "55d0c4a00000-55d0c4a01000 r--p 00000000 fe:00 131 /usr/bin/map\n"
        "7f6956200000-7f6956600000 rw-s 00000000 00:11 454965         /memfd:x y\\012z (deleted)\n"
        "7f6956600000-7f6956e00000 rw-s 00000000 00:11 36             /SYSV00000000 (deleted)\n"
        "7f6956e00000-7f6957600000 rw-p 00000000 00:11 454963         /anon_hugepage (deleted)\n"
        "7f6957600000-7f6957e00000 rw-s 00000000 00:11 454962         /anon_hugepage (deleted)\n"
        "7f6957e00000-7f6958000000 r--s 00800000 00:11 454962         /anon_hugepage (deleted)\n"
        "7f6958000000-7f6958600000 rw-s 00a00000 00:11 454962         /anon_hugepage (deleted)\n"
        "7ffd0f3a0000-7ffd0f3c1000 rw-p 00000000 00:00 0              [stack]\n";

static const char parent_numa_maps[] =
        "55d0c4a00000 default file=/usr/bin/map mapped=1 N0=1 kernelpagesize_kB=4\n"
        "7f6956200000 default file=/memfd:x\\040y\\012z\\040(deleted) huge dirty=1 N0=1 kernelpagesize_kB=2048\n"
        "7f6956600000 default file=/SYSV00000000\\040(deleted) huge dirty=1 N0=1 kernelpagesize_kB=2048\n"
        "7f6956e00000 default file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 mapmax=2 N0=2 kernelpagesize_kB=2048\n"
        "7f6957600000 default file=/anon_hugepage\\040(deleted) huge dirty=3 mapmax=2 N0=2 N1=1 kernelpagesize_kB=2048\n"
        "7f6957e00000 default file=/anon_hugepage\\040(deleted) huge\n"
        "7f6958000000 default file=/anon_hugepage\\040(deleted) huge\n"
        "7ffd0f3a0000 default stack anon=4 dirty=4 N0=4 kernelpagesize_kB=4\n";

static const char child_numa_maps[] =
        "7f6956200000 default file=/memfd:x\\040y\\012z\\040(deleted) huge\n"
        "7f6956600000 default file=/SYSV00000000\\040(deleted) huge\n"
        "7f6956e00000 default file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 mapmax=2 N0=2 kernelpagesize_kB=2048\n"
        "7f6957600000 default file=/anon_hugepage\\040(deleted) huge dirty=2 mapmax=2 N0=2 kernelpagesize_kB=2048\n"
        "7f6957e00000 default file=/anon_hugepage\\040(deleted) huge\n"
        "7f6958000000 default file=/anon_hugepage\\040(deleted) huge\n";

/* ---- stories ---- */

enum { PROCESSES_MAX = 4 };

typedef struct Given {
        Process process;
        Text numa_maps, maps;
} Given;

typedef struct Story {
        Arena *arena;
        const char *host;
        Given given[PROCESSES_MAX];
        size_t n;
        UnitCharge charge; /* unit is NULL: none */
        Text segments;     /* an empty one: not known */
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static void begin_story(void *context) {
        Story *story = context;

        story->host = HOST;
        story->segments = text_in(story->arena);
}

/* UNIT GROUP of a process */
static const char *unit_text(Arena *arena, const char *unit, const char *group) {
        return unit ? arena_printf(arena, "%s %s", unit, group ? group : "-") : NULL;
}

/* A process's status: COMMAND PARENT BYTES. */
VERB(do_status, "status") {
        Process process = {.pid = 5};
        int r = process_parse_status(line->arena, story_unescape(line->arena, line->rest),
                                     &process);

        assert_int_equal(process.pid, 5);
        if (r < 0)
                return strerrorname_np(-r);
        return arena_printf(line->arena, "%s %" PRIu64 " %" PRIu64, process.command,
                            process.parent_pid, process.huge_bytes);
}

VERB(do_unit, "unit") {
        const char *path = story_unescape(line->arena, line->rest);
        size_t length = 0;
        const char *unit = process_unit_of_group(line->arena, path, &length);

        return unit_text(line->arena, unit, arena_strndup(line->arena, path, length));
}

VERB(do_cgroup, "cgroup") {
        Process process = {};

        process_parse_cgroup(line->arena, story_unescape(line->arena, line->rest), &process);
        return unit_text(line->arena, process.unit, process.unit_group);
}

/* TEXT SIZE: the pages, and those of each node. */
VERB(do_numa_stat, "numa-stat") {
        PagesByNode nodes;
        uint64_t pages;
        Text text = text_in(line->arena);
        int r = process_parse_numa_stat(line->arena, story_unescape(line->arena, line->words[1]),
                                        story_number_at(line, 2), &pages, &nodes);

        if (r < 0)
                return strerrorname_np(-r);
        text_printf(&text, "%" PRIu64, pages);
        VEC_FOREACH(here, &nodes)
                text_printf(&text, " %u:%" PRIu64, here->node, here->pages);
        return text_string(&text);
}

/* MOUNTINFO MAPS, "parent": the maps above. Answers how many devices have hugetlbfs, the last one, and whether the maps
 * may have huge pages. */
VERB(do_candidate, "candidate") {
        const Devices devices =
                process_parse_hugetlbfs(line->arena, story_unescape(line->arena, line->words[1]));
        const char *maps = text_equals(line->words[2], "parent")
                                   ? maps_text
                                   : story_unescape(line->arena, line->words[2]);

        const MemoryMap map = memory_map_parse(line->arena, maps, NULL, &devices);

        assert_int_equal(devices.n, 1);
        return arena_printf(line->arena, "%" PRIu64 " %s", (uint64_t) devices.items[0],
                            story_yes(map.huge_bytes > 0 || map.doubtful_bytes > 0));
}

VERB(do_host, "host") {
        story->host = story_unescape(line->arena, line->rest);
        return NULL;
}

/* PID PARENT UNIT [parent|child]: a process that cannot be read in detail, or one with these texts. */
VERB(do_process, "process") {
        Given *given = &story->given[story->n++];

        assert_true(story->n <= PROCESSES_MAX);
        *given = (Given){
                .process = {.pid = story_number_at(line, 1),
                            .parent_pid = story_number_at(line, 2),
                            .command = "postgres",
                            .unit = text_equals(line->words[3], "-") ? NULL : line->words[3]},
                .numa_maps = text_in(story->arena),
                .maps = text_in(story->arena)};
        if (!line->words[4])
                return NULL;
        text_add(&given->numa_maps,
                 text_equals(line->words[4], "child") ? child_numa_maps : parent_numa_maps);
        text_add(&given->maps, maps_text);
        return NULL;
}

/* A line of the latest process's numa_maps or maps, its huge bytes, or a line of the System V segments. */
VERB(do_line, "huge maps numa segment") {
        Given *given = story->n > 0 ? &story->given[story->n - 1] : NULL;
        const char *verb = line->words[0];

        if (text_equals(verb, "huge")) {
                given->process.huge_bytes = story_number_at(line, 1);
                return NULL;
        }
        text_printf(text_equals(verb, "numa")   ? &given->numa_maps
                    : text_equals(verb, "maps") ? &given->maps
                                                : &story->segments,
                    "%s\n", line->rest);
        return NULL;
}

/* UNIT SIZE PAGES RESERVED [PAGES of node 0] [of node 1] */
VERB(do_charge, "charge") {
        story->charge = (UnitCharge){.unit = line->words[1],
                                     .page_size_bytes = story_number_at(line, 2),
                                     .pages = story_number_at(line, 3),
                                     .reserved_pages = story_number_at(line, 4)};
        for (unsigned node = 0; line->words[5 + node]; node++)
                *vec_push(story->arena, &story->charge.used) =
                        (NodePages){node, story_number_at(line, 5 + node)};
        return NULL;
}

static const HugeMappings *mappings_of(Arena *arena, Given *given) {
        given->process.is_detailed = given->numa_maps.length > 0;
        given->process.mappings = process_parse_numa_maps(arena, text_string(&given->numa_maps));
        process_add_maps(arena, text_string(&given->maps), &given->process.mappings);
        return &given->process.mappings;
}

/* The mappings of the latest process. */
VERB(do_mappings, "mappings") {
        Text text = text_in(line->arena);

        VEC_FOREACH(mapping, mappings_of(line->arena, &story->given[story->n - 1])) {
                text_printf(&text, "%s%x/%" PRIu64 " %s %s at %" PRIu64 "M: %" PRIu64 " of %s",
                            text.length > 0 ? "; " : "", (unsigned) mapping->device, mapping->inode,
                            mapping->is_private ? "private" : "shared",
                            format_page_size(line->arena, mapping->length_bytes),
                            mapping->offset_bytes / MIB, mapping->pages,
                            format_page_size(line->arena, mapping->page_size_bytes));
                VEC_FOREACH(here, &mapping->nodes)
                        text_printf(&text, " %u:%" PRIu64, here->node, here->pages);
        }
        return text_string(&text);
}

static PageUsers *users_of(Arena *arena, Story *story) {
        VEC(Process) processes = {};

        for (size_t i = 0; i < story->n; i++) {
                mappings_of(arena, &story->given[i]);
                *vec_push(arena, &processes) = story->given[i].process;
        }
        const PageUsersInput input = {
                .topology = host_make(arena, story->host),
                .processes = processes.items,
                .n_processes = processes.n,
                .charges = &story->charge,
                .n_charges = story->charge.unit != NULL,
                .segments = story->segments.length > 0 ? text_string(&story->segments) : NULL,
                .is_complete = story->segments.length > 0,
        };

        return page_users_make(arena, &input);
}

/* "UNIT PID[: COMMAND]: PAGES/MAPPED of SIZE NODE:PAGES...", each row; ">": at least. */
VERB(do_rows, "rows") {
        Text text = text_in(line->arena);

        VEC_FOREACH(page_user, &users_of(line->arena, story)->list) {
                text_printf(&text, "%s%s %" PRIu64 ": %s%s%s%" PRIu64 "/%" PRIu64 " of %s",
                            text.length > 0 ? "; " : "", page_user->unit ? page_user->unit : "-",
                            page_user->pid,
                            text_equals(page_user->command, "postgres")
                                    ? ""
                                    : arena_printf(line->arena, "%s: ", page_user->command),
                            page_user->is_segment ? arena_printf(line->arena, "(%" PRIu64 ") ",
                                                                 page_user->segment_id)
                                                  : "",
                            page_user->is_lower_bound ? ">" : "", page_user->pages,
                            page_user->mapped_pages,
                            page_user->page_size_bytes > 0
                                    ? format_page_size(line->arena, page_user->page_size_bytes)
                                    : "unknown");
                VEC_FOREACH(here, &page_user->nodes)
                        text_printf(&text, " %u:%" PRIu64, here->node, here->pages);
        }
        return text_string(&text);
}

/* The sentence for the first row. */
VERB(do_sentence, "sentence") {
        return page_user_format(line->arena, &users_of(line->arena, story)->list.items[0]);
}

STORY_TEST(stories, "unit/status/page_users", .size = sizeof(Story), .begin = begin_story)

/* ---- text and JSON ---- */

static NodePages two_nodes[] = {{0, 100}, {1, 98}};

static const PageUser maria = {
        .unit = "mariadb.service",
        .pid = 812,
        .command = "mariadbd",
        .page_size_bytes = 2 * MIB,
        .bytes = 396 * MIB,
        .pages = 198,
        .nodes = {two_nodes, ARRAY_LEN(two_nodes), 0},
};

TEST(sentences) {
        PageUser page_user = maria;

        assert_text(page_user_format(arena, &page_user),
                    "mariadb.service (pid 812, mariadbd): 198 pages of 2M");
        assert_text(page_user_format_use(arena, &page_user),
                    "pid 812, mariadbd: 198 pages of 2M in use (node 0: 100, 1: 98)");
        page_user.is_lower_bound = true;
        assert_text(page_user_format(arena, &page_user),
                    "mariadb.service (pid 812, mariadbd): at least 198 pages of 2M");
        page_user.mapped_pages = 1081;
        page_user.unit = NULL;
        assert_text(page_user_format(arena, &page_user), "pid 812 (mariadbd): 1,081 pages of 2M");
        assert_contains(
                page_user_held(arena, &page_user, 12).text,
                "and no instance is described for it: as long as it runs, 12 pages of 2M (24M) stay");
        assert_contains(page_user_held(arena, &page_user, 12).remedy,
                        "end process 812, or describe it in /etc/hugeplan.d, or disable");
        assert_text(page_user_format_use(arena, &page_user),
                    "pid 812, mariadbd: 1,081 pages of 2M mapped, at least 198 in use"
                    " (node 0: 100, 1: 98)");
        page_user = (PageUser){.command = "no process", .page_size_bytes = GIB, .pages = 1};
        assert_text(page_user_format(arena, &page_user), "no process: 1 page of 1G");
        page_user = (PageUser){.unit = "x.service", .page_size_bytes = GIB, .pages = 2};
        assert_text(page_user_format(arena, &page_user), "x.service: 2 pages of 1G");
}

TEST(json) {
        json_t *json = page_user_to_json(&maria, "shop");
        char *text = json_dumps(json, JSON_COMPACT);

        assert_text(text, "{\"pid\":812,\"command\":\"mariadbd\",\"unit\":\"mariadb.service\","
                          "\"instance\":\"shop\",\"pageSizeBytes\":2097152,\"pages\":198,"
                          "\"mappedPages\":0,\"bytes\":415236096,\"lowerBound\":false,"
                          "\"nodes\":[{\"node\":0,\"pages\":100},{\"node\":1,\"pages\":98}]}");
        free(text);
        json_decref(json);
}

static Status *status_with(Arena *arena, PageUsers *page_users) {
        static StatusInstance instance = {
                .name = "shop",
                .unit = "mariadb.service",
                .page_size_bytes = 2 * MIB,
                .pages_wanted = 198,
                .pages_granted = 198,
        };
        Status *status = ARENA_NEW(arena, Status);

        status->instances = &instance;
        status->n_instances = 1;
        status->page_users = page_users;
        status->phase = "idle";
        return status;
}

TEST(tables) {
        static const RenderOptions options = {};
        PageUsers *page_users = ARENA_NEW(arena, PageUsers);
        Status *status = status_with(arena, page_users);
        ServerLook look = {.is_running = true};
        const Proof proof = {.instance = &status->instances[0], .look = &look};
        StatusInstance *instance = &status->instances[0];

        assert_null(strstr(render_status(arena, status, &options), "USED BY"));
        assert_null(strstr(render_status_instance(arena, status, instance, &options), "Used by"));
        instance->proof = &proof;
        assert_contains(render_status_instance(arena, status, instance, &options),
                        "   Used by: no page in use yet\n");
        look.is_all_mapped = true;
        assert_contains(render_status_instance(arena, status, instance, &options),
                        "   Used by: not mapped yet\n");
        *vec_push(arena, &page_users->list) = maria;
        assert_contains(
                render_status(arena, status, &options),
                "USED BY          PID  COMMAND   PAGES  MAPPED  OF  SIZE  NODES       INSTANCE\n"
                "mariadb.service  812  mariadbd    198       -  2M  396M  0:100 1:98  shop\n");
        *vec_push(arena, &look.pages) = maria;
        assert_contains(
                render_status_instance(arena, status, instance, &options),
                "   Used by: pid 812, mariadbd: 198 pages of 2M in use (node 0: 100, 1: 98)\n");
}
