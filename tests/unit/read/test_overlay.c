/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files laid over others: the host as a plan will leave it. */

#include "check/host_facts.h"
#include "support/sources.h"
#include "support/testing.h"

static const char *read_one(Arena *arena, const Overlay *overlay, const char *path) {
        SourceText text = source_read(&overlay->sources, arena, path);

        if (text.error == 0)
                assert_int_equal(text.size, strlen(text.text));
        return text.error == 0 ? text.text : arena_printf(arena, "error %d", text.error);
}

/* "a b c"; NULL: no such directory. */
static const char *list_one(Arena *arena, const Overlay *overlay, const char *path) {
        Text text = text_in(arena);
        SourceNames names = {};

        if (overlay->sources.list(&overlay->sources, arena, path, &names) < 0)
                return NULL;
        VEC_FOREACH(name, &names)
                text_printf(&text, "%s%s", text.length > 0 ? " " : "", *name);
        return text_string(&text);
}

static const Sources *below(Arena *arena) {
        return TEST_SOURCES(arena, {"/etc/a/1", "one"}, {"/etc/a/3", "three"},
                            {"/etc/b/x", "-> ../a/1"});
}

TEST(nothing_over) {
        Overlay overlay = overlay_over(arena, below(arena));

        assert_text(read_one(arena, &overlay, "/etc/a/1"), "one");
        assert_text(read_one(arena, &overlay, "/etc/a/2"), "error -2");
        assert_text(list_one(arena, &overlay, "/etc/a"), "1 3");
        assert_text(list_one(arena, &overlay, "/etc/c"), NULL);
        assert_text(source_link(&overlay.sources, arena, "/etc/b/x"), "../a/1");
}

TEST(files_over) {
        Overlay overlay = overlay_over(arena, below(arena));

        overlay_put(&overlay, "/etc/a/1", "uno");
        overlay_put(&overlay, "/etc/a/2", "due");
        overlay_put(&overlay, "/run/x/y.d/z", "new");
        overlay_put(&overlay, "/etc/b/x", "no link");
        assert_text(read_one(arena, &overlay, "/etc/a/1"), "uno");
        assert_text(read_one(arena, &overlay, "/etc/a/2"), "due");
        assert_text(read_one(arena, &overlay, "/etc/a/3"), "three");
        assert_text(list_one(arena, &overlay, "/etc/a"), "1 2 3");
        assert_text(list_one(arena, &overlay, "/run/x"), "y.d");
        assert_text(list_one(arena, &overlay, "/run/x/y.d"), "z");
        assert_text(list_one(arena, &overlay, "/run/x/y"), NULL);
        assert_null(source_link(&overlay.sources, arena, "/etc/b/x"));
        assert_text(read_one(arena, &overlay, "/etc/b/x"), "no link");
}

TEST(gone) {
        Overlay overlay = overlay_over(arena, below(arena));

        overlay_put(&overlay, "/etc/a/1", "uno");
        overlay_put(&overlay, "/etc/a/1", NULL);
        overlay_put(&overlay, "/etc/c/1", NULL);
        assert_text(read_one(arena, &overlay, "/etc/a/1"), "error -2");
        assert_text(list_one(arena, &overlay, "/etc/a"), "3");
        assert_text(list_one(arena, &overlay, "/etc/c"), NULL);
        overlay_put(&overlay, "/etc/a/1", "again");
        assert_text(read_one(arena, &overlay, "/etc/a/1"), "again");
        assert_text(list_one(arena, &overlay, "/etc/a"), "1 3");
}

/* ---- a plan applied ---- */

TEST(host_after) {
        const Sources *sources = TEST_SOURCES(
                arena, {"/proc/sys/kernel/shmmax", "33554432\n"},
                {"/proc/sys/kernel/shmall", "18446744073692774399\n"},
                {"/run/systemd/generator/old.service.d/10-hugeplan.conf", "[Service]\n"},
                {"/run/systemd/generator/old.service.d/20-other.conf", "[Service]\n"},
                {"/etc/security/limits.conf", "oracle soft memlock 64\n"});
        const Config *config = config_line(arena, "20-db Engine=oracle Unit=db.service Pages=100");
        Topology *topology = host_make(arena, "sizes 2M\nnode 0 total=16G free=15G\nthp always\n");
        const Accounts accounts = {};

        topology->limits = (KernelLimits){32 * MIB, UINT64_MAX, 0};
        Plan *plan = plan_simple(arena, config, topology);
        const HostPlanInput host_input = {
                .config = config, .plan = plan, .topology = topology, .accounts = &accounts};
        Diags problems = diags_in(arena);
        HostPlan host = host_plan_make(arena, &host_input, &problems);
        Dropins dropins = dropins_make(
                arena, &(DropinInput){.config = config, .ctl = "/usr/bin/hugeplanctl"});
        Overlay after = host_after(arena, sources, config, plan, &host.writes, &dropins);

        assert_text(read_one(arena, &after, "/proc/sys/kernel/shmmax"), "209715200\n");
        assert_text(read_one(arena, &after, "/proc/sys/kernel/shmall"), "18446744073692774399\n");
        assert_text(read_one(arena, &after, "/sys/kernel/mm/transparent_hugepage/enabled"),
                    "never\n");
        assert_contains(
                read_one(arena, &after, "/run/systemd/generator/db.service.d/10-hugeplan.conf"),
                "\nLimitMEMLOCK=infinity\n");
        assert_text(list_one(arena, &after, "/run/systemd/generator/old.service.d"),
                    "20-other.conf");
        assert_text(list_one(arena, &after, "/etc/security/limits.d"), "60-hugeplan.conf");
        assert_contains(read_one(arena, &after, "/etc/security/limits.d/60-hugeplan.conf"),
                        "oracle soft memlock 204800\n");
}

/* Nothing is written for logins without limits. */
TEST(no_logins) {
        const Sources *sources = TEST_SOURCES(arena, {"/etc/passwd", ""});
        const Config *config = config_line(arena, "20-db Engine=oracle Pages=100");
        const HostPlan host = {};
        const Dropins dropins = {};
        Plan *plan = plan_simple(arena, config,
                                 host_make(arena, "sizes 2M\nnode 0 total=16G free=15G\n"));
        Overlay after = host_after(arena, sources, config, plan, &host.writes, &dropins);

        assert_text(list_one(arena, &after, "/etc/security"), NULL);
}
