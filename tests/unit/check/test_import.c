/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pages that other settings would leave in the pools, and how many of them become instances'. */

#include "check/import.h"
#include "engines/engine.h"
#include "support/testing.h"

static const char host[] = "sizes 1G 2M\nnode 0 total=64G free=60G\nnode 1 total=64G free=60G\n";

typedef struct Entry {
        SettingSourceSource source;
        const char *file, *text;
} Entry;

static SettingSources *sources_of(Arena *arena, const Topology *topology, const Entry *settings,
                                  size_t n) {
        SettingSources *sources = setting_sources_new(arena, topology);

        ARRAY_FOREACH(each, settings, n)
                setting_sources_add_file(
                        sources, &(SettingSourceFile){.source = each->source,
                                                      .path = each->file,
                                                      .text = {each->text, strlen(each->text)}});
        setting_sources_finish(sources);
        return sources;
}

static SetPagesList set_of(Arena *arena, const Topology *topology, const Entry *settings, size_t n,
                           const Plan *plan) {
        return set_pages_find(
                arena, &(HostView){.topology = topology,
                                   .plan = plan,
                                   .setting_sources = sources_of(arena, topology, settings, n)});
}

/* "2M 0:10 1:20 by node", one per line. */
static char *pages_text(Arena *arena, const Entry *settings, size_t n) {
        const Topology *topology = host_make(arena, host);
        const SetPagesList list = set_of(arena, topology, settings, n, NULL);
        Text text = text_in(arena);

        VEC_FOREACH(set, &list)
                text_printf(&text, "%s 0:%" PRIu64 " 1:%" PRIu64 "%s\n",
                            format_page_size(arena, set->page_size_bytes), set->node_pages[0],
                            set->node_pages[1], set->is_by_node ? " by node" : "");
        return arena_strdup(arena, text_string(&text));
}

#define PAGES(...) \
        pages_text(arena, (const Entry[]){__VA_ARGS__}, ARRAY_LEN(((const Entry[]){__VA_ARGS__})))

#define LINE   SETTING_SOURCE_KERNEL_COMMAND_LINE, "/proc/cmdline"
#define SYSCTL SETTING_SOURCE_SYSCTL, "/etc/sysctl.d/a.conf"
#define TMP    SETTING_SOURCE_TMPFILES, "/etc/tmpfiles.d/a.conf"
#define TUNED  SETTING_SOURCE_TUNED, "/etc/tuned/a/tuned.conf"
#define SYSFS  SETTING_SOURCE_SYSFS, "/etc/sysfs.conf"
#define SCRIPT SETTING_SOURCE_SCRIPT, "/etc/rc.local"
#define NODE_1 "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"

TEST(order) {
        /* One number for the host is spread evenly. */
        assert_text(PAGES({SYSCTL, "vm.nr_hugepages=101"}), "2M 0:51 1:50\n");
        assert_text(PAGES({LINE, "hugepages=200 hugepagesz=1G hugepages=0:3,1:1"}),
                    "1G 0:3 1:1 by node\n2M 0:100 1:100\n");
        /* The later setting wins, even if it is smaller. */
        assert_text(PAGES({LINE, "hugepages=200"}, {SYSCTL, "vm.nr_hugepages=100"}),
                    "2M 0:50 1:50\n");
        assert_text(PAGES({SYSCTL, "vm.nr_hugepages=100"}, {TMP, "w " NODE_1 " - - - - 70"}),
                    "2M 0:50 1:70 by node\n");
        assert_text(PAGES({SYSCTL, "vm.nr_hugepages=100\nvm.nr_hugepages=0"}), "2M 0:0 1:0\n");
        /* The order of these is unknown: the larger number counts. */
        assert_text(PAGES({SYSCTL, "vm.nr_hugepages=100"},
                          {TUNED, "[sysctl]\nvm.nr_hugepages=60\n[sysfs]\n" NODE_1 "=20"}),
                    "2M 0:50 1:50 by node\n");
        assert_text(PAGES({SYSCTL, "vm.nr_hugepages=100"},
                          {SYSFS, "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages=300"}),
                    "2M 0:150 1:150\n");
        /* An unreadable setting has no number. */
        assert_text(PAGES({SCRIPT, "echo 300 > /proc/sys/vm/nr_hugepages"}), "");
        assert_text(PAGES({SYSCTL, "vm.nr_hugepages=100"},
                          {SETTING_SOURCE_SYSCTL, "/etc/sysctl.conf", "vm.nr_hugepages=60"}),
                    "2M 0:50 1:50\n");
        assert_text(PAGES({SYSCTL, "vm.hugetlb_shm_group=5\nvm.nr_hugepages=many"}), "");
}

/* Present pages count if they are more, without those that hugeplan has added. */
TEST(existing) {
        const Topology *topology = host_make(
                arena,
                "sizes 2M\nnode 0 total=64G free=60G 2M=70\nnode 1 total=64G free=60G 2M=50\n");
        const Entry less = {SYSCTL, "vm.nr_hugepages=119"}, more = {SYSCTL, "vm.nr_hugepages=120"};
        SetPagesList list = set_of(arena, topology, &less, 1, NULL);
        PlanPool ours = {.node = 0, .page_size_bytes = 2 * MIB, .found_pages = 69};
        const Plan plan = {.pools = &ours, .n_pools = 1};

        assert_int_equal(list.items[0].pages, 120);
        assert_int_equal(list.items[0].node_pages[0], 70);
        assert_true(list.items[0].is_unexplained);
        list = set_of(arena, topology, &more, 1, NULL);
        assert_int_equal(list.items[0].pages, 120);
        assert_int_equal(list.items[0].node_pages[0], 60);
        assert_false(list.items[0].is_unexplained);
        list = set_of(arena, topology, &less, 1, &plan);
        assert_int_equal(list.items[0].node_pages[0], 60);
        assert_false(list.items[0].is_unexplained);
        list = set_of(arena, topology, NULL, 0, NULL);
        assert_int_equal(list.items[0].pages, 120);
}

/* An instance with a size, a database that was found, and the rest by the nodes' shares. */
TEST(rest) {
        const Topology *topology = host_make(arena, host);
        const Config *config = config_line(arena, "20-a Pages=30");
        const Entry setting = {
                TMP, "w /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages "
                     "- - - - 300\nw " NODE_1 " - - - - 100"};
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
                .setting_sources = sources_of(arena, topology, &setting, 1),
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
