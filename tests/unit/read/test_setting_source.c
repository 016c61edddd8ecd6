/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings of other programs for the same things: the syntax of four formats, which entry is effective, and which
 * entry explains the kernel's value. */

#include "apply/host_apply.h"
#include "base/size.h"
#include "check/rules.h"
#include "read/setting_source.h"
#include "support/setting_sources.h"
#include "support/story.h"

static const char host[] = "sizes 1G 2M\n"
                           "node 0 total=64G free=60G 2M=10\n"
                           "node 1 total=64G free=60G 2M=30 1G=2\n"
                           "thp never 64K=inherit 2M=inherit\n";

static void add(SettingSources *setting_sources, SettingSourceSource source, const char *path,
                const char *text) {
        setting_sources_add_file(setting_sources, &(SettingSourceFile){.source = source,
                                                                       .path = path,
                                                                       .runs = "cron runs it",
                                                                       .text = text,
                                                                       .size = strlen(text)});
}

static SettingSources *setting_sources_in(Arena *arena, SettingSourceSource source,
                                          const char *text) {
        SettingSources *setting_sources = setting_sources_new(arena, host_make(arena, host));

        add(setting_sources, source, "/etc/x.conf", text);
        setting_sources_finish(setting_sources);
        return setting_sources;
}

/* ---- formats ---- */

#define NODE_POOL(node, size) \
        "/sys/devices/system/node/node" node "/hugepages/hugepages-" size "/nr_hugepages"
#define THP "/sys/kernel/mm/transparent_hugepage"

TEST(includes) {
        static const char text[] = "include=no\n[main]\nsummary=x\ninclude = a, b;c -d # e\n"
                                   "[vm]\ninclude=f\n";
        SourceNames names = setting_source_tuned_includes(arena, text, strlen(text));
        Text all = text_in(arena);

        VEC_FOREACH(name, &names)
                text_printf(&all, "%s ", *name);
        assert_text(text_string(&all), "a b c d ");
}

/* Patterns that would take very long. */
TEST(hostile_patterns) {
        char stars[241], braces[241];
        Text text = text_in(arena);

        for (size_t i = 0; i < 240; i += 2) {
                memcpy(stars + i, "*/", 2);
                stars[i + 1] = 'a';
                memcpy(braces + i, "{,", 2);
        }
        memset(braces + 120, '}', 120);
        stars[240] = braces[240] = '\0';
        for (size_t i = 0; i < 2000; i++)
                text_printf(&text, "w /sys/*%s - - - - 1\nw /sys/%s - - - - 1\n", stars, braces);
        assert_text(setting_sources_text(
                            arena, setting_sources_in(arena, SETTING_SOURCE_TMPFILES, text.string)),
                    "");
}

TEST(hostile_values) {
        char *line = arena_printf(arena, "vm.nr_hugepages=\033[2J\xFF%01000d\n", 1);
        const SettingSources *setting_sources =
                setting_sources_in(arena, SETTING_SOURCE_SYSCTL, line);
        const SettingSource *setting_source = setting_sources->list.items;

        assert_true(strlen(setting_source->value) < 200);
        assert_true(text_is_utf8(setting_source->value, strlen(setting_source->value)));
        assert_true(text_starts_with(setting_source->value, "?[2J?0"));
}

/* A flood of entries is cut, and settled in no time. */
TEST(flood) {
        Text text = text_in(arena);

        for (size_t i = 0; i < 20000; i++)
                text_add(&text, "vm.nr_hugepages=1\n");
        const SettingSources *setting_sources =
                setting_sources_in(arena, SETTING_SOURCE_SYSCTL, text.string);

        assert_uint_in_range(setting_sources->list.n, 1001, 9999);
}

/* ---- over several files ---- */

TEST(readers) {
        SettingSources *setting_sources = setting_sources_new(arena, host_make(arena, host));

        add(setting_sources, SETTING_SOURCE_KERNEL_COMMAND_LINE, "/proc/cmdline",
            "sysctl.vm.nr_hugepages=1");
        add(setting_sources, SETTING_SOURCE_SYSCTL, "/etc/sysctl.d/10-a.conf", "vm.nr_hugepages=2");
        add(setting_sources, SETTING_SOURCE_SYSCTL, "/etc/sysctl.d/20-b.conf", "vm.nr_hugepages=3");
        add(setting_sources, SETTING_SOURCE_SYSCTL, "/etc/sysctl.conf", "vm.nr_hugepages=4");
        add(setting_sources, SETTING_SOURCE_TUNED, "/usr/lib/tuned/a/tuned.conf",
            "[sysctl]\nvm.nr_hugepages=5");
        add(setting_sources, SETTING_SOURCE_TUNED, "/etc/tuned/b/tuned.conf",
            "[sysctl]\nvm.nr_hugepages=6");
        setting_sources_finish(setting_sources);
        /* Each program has its own last entry. */
        assert_text(setting_sources_text(arena, setting_sources),
                    "0 pool 1\n!1 pool 2\n1 pool 3\n1 pool 4\n"
                    "!2 pool 5\n2 pool 6\n");
}

TEST(tuned_replace) {
        SettingSources *setting_sources = setting_sources_new(arena, host_make(arena, host));

        add(setting_sources, SETTING_SOURCE_TUNED, "/a",
            "[sysctl]\nvm.nr_hugepages=5\n[vm]\n"
            "transparent_hugepages=never");
        add(setting_sources, SETTING_SOURCE_TUNED, "/b", "[sysctl]\nkernel.shmmax=5\nreplace=yes");
        setting_sources_finish(setting_sources);
        assert_text(setting_sources_text(arena, setting_sources),
                    "!2 pool 5\n4 thp never\n2 shmmax 5\n");
}

static SettingSources *several(Arena *arena) {
        SettingSources *setting_sources = setting_sources_new(arena, host_make(arena, host));

        add(setting_sources, SETTING_SOURCE_SYSCTL, "/etc/sysctl.d/10-a.conf",
            "vm.nr_hugepages=40");
        add(setting_sources, SETTING_SOURCE_SYSCTL, "/etc/sysctl.d/20-b.conf",
            "\n\nvm.nr_hugepages=0x14");
        add(setting_sources, SETTING_SOURCE_TMPFILES, "/etc/tmpfiles.d/a.conf",
            "w " NODE_POOL("1", "2048kB") " - - - - 30\nw " NODE_POOL(
                    "*", "1048576kB") " - - - - 9\nw " THP "/enabled - - - - always");
        add(setting_sources, SETTING_SOURCE_TUNED, "/etc/tuned/b/tuned.conf",
            "[sysctl]\nvm.nr_hugepages=>7\n[vm]\ntransparent_hugepages=never");
        setting_sources_finish(setting_sources);
        return setting_sources;
}

static void assert_setting_source(Arena *arena, const SettingSource *setting_source,
                                  const char *expected) {
        assert_text(setting_source ? setting_source_format(arena, setting_source) : NULL, expected);
}

TEST(setting_source_for_path) {
        static const struct {
                const char *path, *shown, *expected;
        } cases[] = {
                /* By value, in any base, even if another entry should win. */
                {"/proc/sys/vm/nr_hugepages", "20",
                 "vm.nr_hugepages=0x14 in /etc/sysctl.d/20-b.conf:3"},
                {"/proc/sys/vm/nr_hugepages", "40\n",
                 "vm.nr_hugepages=40 in /etc/sysctl.d/10-a.conf:1"},
                {"/proc/sys/vm/nr_hugepages", "7",
                 "vm.nr_hugepages=>7 in /etc/tuned/b/tuned.conf:2"},
                /* An entry with another value is not the source. */
                {"/proc/sys/vm/nr_hugepages", "8", NULL},
                {"/proc/sys/vm/nr_hugepages", NULL, NULL},
                {THP "/enabled", "[always] madvise never",
                 THP "/enabled=always in /etc/tmpfiles.d/a.conf:3"},
                {THP "/enabled", "always madvise [never]",
                 "transparent_hugepages=never in /etc/tuned/b/tuned.conf:4"},
                {THP "/enabled", "always [madvise] never", NULL},
                {THP "/defrag", "always", NULL},
                {NODE_POOL("0", "1048576kB"), "9",
                 NODE_POOL("*", "1048576kB") "=9 in /etc/tmpfiles.d/a.conf:2"},
                {NODE_POOL("0", "1048576kB"), NULL, NULL},
                {"/proc/sys/kernel/shmmax", "1", NULL},
        };
        SettingSources *setting_sources = several(arena);

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_setting_source(
                        arena,
                        setting_source_for_path(setting_sources, cases[i].path, cases[i].shown),
                        cases[i].expected);
}

/* Of several matching entries: the effective one, then the one that acts last. */
TEST(most_likely) {
        SettingSources *setting_sources = setting_sources_new(arena, host_make(arena, host));

        add(setting_sources, SETTING_SOURCE_SYSCTL, "/etc/sysctl.d/10-a.conf",
            "vm.nr_hugepages=40");
        add(setting_sources, SETTING_SOURCE_SYSCTL, "/etc/sysctl.d/20-b.conf",
            "vm.nr_hugepages=40");
        setting_sources_finish(setting_sources);
        assert_setting_source(
                arena, setting_source_for_path(setting_sources, "/proc/sys/vm/nr_hugepages", "40"),
                "vm.nr_hugepages=40 in /etc/sysctl.d/20-b.conf:1");
        add(setting_sources, SETTING_SOURCE_TUNED, "/etc/tuned/b/tuned.conf",
            "[sysctl]\nvm.nr_hugepages=40");
        setting_sources_finish(setting_sources);
        assert_setting_source(
                arena, setting_source_for_path(setting_sources, "/proc/sys/vm/nr_hugepages", "40"),
                "vm.nr_hugepages=40 in /etc/tuned/b/tuned.conf:2");
}

PLAIN_VERB(do_pools, "pools") {
        static const struct {
                const char *name;
                SettingSourceSource source;
        } sources[] = {{"sysctl", SETTING_SOURCE_SYSCTL},
                       {"tmpfiles", SETTING_SOURCE_TMPFILES},
                       {"tuned", SETTING_SOURCE_TUNED},
                       {"kernel-command-line", SETTING_SOURCE_KERNEL_COMMAND_LINE}};
        const Topology *now = host_make(line->arena, host);
        Text found = text_in(line->arena);
        size_t i = 0;

        while (!text_equals(sources[i].name, line->words[1]))
                assert_true(++i < ARRAY_LEN(sources));
        const SettingSources *settings =
                setting_sources_in(line->arena, sources[i].source,
                                   story_unescape(line->arena, strchr(line->rest, ' ') + 1));

        for (unsigned k = 0; k < 4; k++) {
                const SettingSource *setting =
                        setting_source_for_pool(settings, now, k % 2, k < 2 ? 2 * MIB : GIB);

                text_printf(&found, "%s%s", k > 0 ? " " : "", setting ? setting->value : "-");
        }
        return text_string(&found);
}

PLAIN_VERB(do_explains, "explains") {
        const SettingSource setting = {
                .path = line->words[1],
                .value = text_equals(line->words[2], "''")
                                 ? ""
                                 : story_unescape(line->arena, line->words[2])};

        return story_yes(setting_source_explains(
                &setting, text_equals(line->words[3], "-")
                                  ? NULL
                                  : story_unescape(line->arena, line->words[3])));
}

STORY_TEST(stories, "unit/read/setting_shown")

/* Surplus pages are not part of the setting. */
TEST(surplus_is_not_set) {
        const Topology *now = host_make(arena, "sizes 2M\nnode 0 total=64G free=60G 2M=12/0/7\n"
                                               "node 1 total=64G free=60G 2M=0/0/0\n");

        assert_setting_source(
                arena,
                setting_source_for_pool(
                        setting_sources_in(arena, SETTING_SOURCE_SYSCTL, "vm.nr_hugepages=5"), now,
                        0, 2 * MIB),
                "vm.nr_hugepages=5 in /etc/x.conf:1");
        assert_null(setting_source_for_pool(
                setting_sources_in(arena, SETTING_SOURCE_SYSCTL, "vm.nr_hugepages=12"), now, 0,
                2 * MIB));
}

/* "At least" and "at most". */
TEST(values_of_tuned) {
        assert_true(setting_source_explains(&(SettingSource){.source = SETTING_SOURCE_TUNED,
                                                             .path = "/proc/sys/vm/nr_hugepages",
                                                             .value = ">7"},
                                            "7"));
        assert_false(setting_source_explains(&(SettingSource){.source = SETTING_SOURCE_SYSCTL,
                                                              .path = "/proc/sys/vm/nr_hugepages",
                                                              .value = ">7"},
                                             "7"));
}

TEST(guard) {
        const char *text = guard_text(arena, 1081);

        /* systemd-sysctl reads what hugeplan writes. */
        assert_text(
                setting_sources_text(arena, setting_sources_in(arena, SETTING_SOURCE_SYSCTL, text)),
                "6 pool 1081\n");
        assert_contains(text, "hugepland(8)");
}

/* ---- conflicts ---- */

static Diags conflicts(Arena *arena, const Config *config, SettingSourceSource source,
                       const char *path, const char *file) {
        const Topology *topology = host_make(arena, "sizes 1G 2M\n"
                                                    "node 0 total=64G free=60G\n"
                                                    "thp never 64K=inherit 2M=inherit\n");
        SettingSources *setting_sources = setting_sources_new(arena, topology);
        Diags problems = diags_in(arena), ignored = diags_in(arena);
        ThpPlan thp = thp_plan_make(arena, config, topology, 0, &ignored);

        add(setting_sources, source, path, file);
        setting_sources_finish(setting_sources);
        conflicts_add(arena,
                      &(HostView){.config = config,
                                  .topology = topology,
                                  .plan = plan_simple(arena, config, topology),
                                  .thp = &thp,
                                  .setting_sources = setting_sources},
                      &problems);
        return problems;
}

static char *conflicts_text(Arena *arena, const char *host_text, const char *instance,
                            SettingSourceSource source, const char *path, const char *file) {
        const Config *config = instance ? config_make(arena, "00-host.conf", host_text, "20-a.conf",
                                                      instance, NULL)
                                        : config_make(arena, "00-host.conf", host_text, NULL);
        const Diags problems = conflicts(arena, config, source, path, file);
        Text text = text_in(arena);

        VEC_FOREACH(problem, &problems.list)
                text_printf(&text, "%s %s %s\n", severity_name(problem->severity), problem->id,
                            diag_format(arena, problem));
        return arena_strdup(arena, text_string(&text));
}

static const char plain_host[] = "[Host]\n";
static const char generic[] = "[Instance]\nEngine=generic\nUnit=a.service\nMemory=8G\n";
static const char oracle[] = "[Instance]\nEngine=oracle\nUnit=a.service\nMemory=8G\n";

TEST(conflict_text) {
        assert_text(conflicts_text(arena, plain_host, generic, SETTING_SOURCE_SYSCTL,
                                   "/etc/sysctl.d/99-db.conf", "\n\nvm.nr_hugepages=20"),
                    "warning conflict-sysctl /etc/sysctl.d/99-db.conf:3: "
                    "vm.nr_hugepages: '20' works against the plan; systemd-sysctl applies "
                    "it again whenever a package triggers it; delete the line\n");
        assert_text(conflicts_text(arena, plain_host, generic, SETTING_SOURCE_TMPFILES,
                                   "/usr/lib/tmpfiles.d/a.conf",
                                   "w " THP "/enabled - - - - always"),
                    "warning conflict-tmpfiles /usr/lib/tmpfiles.d/a.conf:1: " THP
                    "/enabled: 'always' works against the plan; systemd-tmpfiles applies it "
                    "at every boot, after hugeplan; put a copy without the line into "
                    "/etc/tmpfiles.d/a.conf, or write TransparentHugePages=always in [Host]\n");
        assert_text(conflicts_text(arena, plain_host, generic, SETTING_SOURCE_SCRIPT,
                                   "/etc/crontab", "@reboot root hugeadm --thp-always"),
                    "notice conflict-script /etc/crontab:1: hugeadm: mentions huge "
                    "pages, and cron runs it; what it sets is not counted; check it: a "
                    "command that sets pools, or another policy than the plan, must be "
                    "removed\n");
        assert_contains(conflicts_text(arena, plain_host, oracle, SETTING_SOURCE_SYSCTL, "/etc/x",
                                       "kernel.shmmax=1000"),
                        "kernel.shmmax: '1000' works against the plan");
}

/* shmmax must suffice for the largest instance, shmall for all together. */
TEST(limits) {
        const Config *config = config_make(arena, "20-a.conf", oracle, "30-b.conf",
                                           "[Instance]\nEngine=oracle\nUnit=b.service\nMemory=8G\n",
                                           NULL);
        /* 10G in bytes, and in pages of 4K. */
        const Diags problems = conflicts(arena, config, SETTING_SOURCE_SYSCTL, "/a",
                                         "kernel.shmmax=10737418240\nkernel.shmall=2621440");

        assert_int_equal(problems.list.n, 1);
        assert_text(problems.list.items[0].key, "kernel.shmall");
}
