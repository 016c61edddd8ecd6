/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is made of what was seen: each outcome with the evidence that it needs, and without it. */

#include "engines/engine.h"
#include "render/render.h"
#include "status/waste.h"
#include "support/testing.h"

#define HOUR (3600 * USEC_PER_SEC)
#define DAY  (24 * HOUR)

static NodePages node0 = {0, 139};

/* PostgreSQL with 139 pages on node 0, counted, with mappings as they should be. */
typedef struct Case {
        StatusInstance instance;
        ServerLook look;
        PageUser user;
        ProofInput input;
} Case;

static Case *make(Arena *arena, uint64_t mapped, uint64_t touched) {
        Case *c = ARENA_NEW(arena, Case);

        c->instance = (StatusInstance){.name = "pg",
                                       .engine = "postgresql",
                                       .unit = "pg.service",
                                       .file = "/etc/hugeplan.d/pg.conf",
                                       .page_size_bytes = 2 * MIB,
                                       .pages_wanted = 139,
                                       .pages_granted = 139,
                                       .nodes = &node0,
                                       .n_nodes = 1};
        c->look = (ServerLook){.is_running = true,
                               .pid = 812,
                               .command = "postgres",
                               .age_usec = HOUR,
                               .n_processes = 10,
                               .is_counted = true,
                               .has_map = true,
                               .is_all_mapped = true,
                               .map = {.huge_bytes = mapped * 2 * MIB}};
        if (mapped > 0)
                *vec_push(arena, &c->look.pages) = (PageUser){.page_size_bytes = 2 * MIB,
                                                              .pages = touched,
                                                              .mapped_pages = mapped,
                                                              .nodes = &node0,
                                                              .n_nodes = 1};
        c->input = (ProofInput){
                .instance = &c->instance, .look = &c->look, .base_page_bytes = 4 * KIB};
        return c;
}

static Proof judge(Arena *arena, Case *c) {
        return proof_judge(arena, &c->input);
}

static void assert_outcome(Arena *arena, Case *c, Outcome outcome, bool is_as_planned) {
        const Proof proof = judge(arena, c);

        assert_text(outcome_name(proof.outcome), outcome_name(outcome));
        assert_int_equal(proof.is_as_planned, is_as_planned);
}

TEST(in_use) {
        Case *c = make(arena, 139, 100);

        assert_outcome(arena, c, OUTCOME_IN_USE, true);
        /* Too large a figure is no fall back, however large. */
        c->instance.pages_wanted = 600;
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
        /* Nor is private memory that could be anything, as long as little is missing. */
        c->instance.pages_wanted = 160;
        c->look.map.private_bytes = GIB;
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
}

TEST(fell_back) {
        Case *c = make(arena, 0, 0);

        c->look.map.shared_bytes = 278 * MIB;
        c->look.age_usec = 0;
        assert_outcome(arena, c, OUTCOME_FELL_BACK, false);
        assert_contains(judge(arena, c).why, "huge_pages=try");
        /* In part: chunks of shared memory, or a pool beside huge caches. */
        c = make(arena, 100, 100);
        c->look.map.shared_bytes = 64 * MIB;
        assert_outcome(arena, c, OUTCOME_FELL_BACK, false);
        /* PostgreSQL has all of its main memory in one segment, so that private memory is something else. */
        c = make(arena, 60, 60);
        c->look.map.private_bytes = c->look.map.private_largest_bytes = 160 * MIB;
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
        c->instance.engine = "mariadb";
        assert_outcome(arena, c, OUTCOME_FELL_BACK, false);
}

/* What a server maps, beside what it was given and what its settings need; measured but for the last four. */
static const struct {
        const char *engine;
        uint64_t given, mapped;
        uint64_t needed, piece_mib; /* by its settings; 0: they are not known */
        uint64_t private_mib, largest_mib, shared_mib;
        bool was_let_start;
        const char *cause;  /* NULL: in use */
        const char *remedy; /* the beginning; NULL: in use */
} servers[] = {
        /* 8.0.36: two of eight chunks. Adjacent mappings are one. */
        {"mysql", 528, 396, 528, 128, 264, 264, 0, true, "lost", "systemctl restart pg.service"},
        {"mysql", 528, 462, 528, 128, 180, 132, 0, true, "lost", "systemctl restart pg.service"},
        {"mysql", 528, 396, 0, 0, 264, 132, 0, true, "lost", "systemctl restart pg.service"},
        /* One of 800. */
        {"mysql", 52800, 52734, 52800, 128, 200, 132, 0, true, "lost", "systemctl restart"},
        /* 151 granted, a pool of 320M: the key caches took 115. */
        {"mariadb", 151, 115, 279, 320, 340, 328, 0, true, "short",
         "write Memory=auto or Pages=2M:279 into /etc/hugeplan.d/pg.conf, then: hugeplanctl reload"},
        {"mariadb", 151, 115, 0, 0, 340, 328, 0, true, "lost", "systemctl restart pg.service"},
        {"mariadb", 115, 115, 279, 320, 340, 328, 0, true, "short",
         "write Memory=auto or Pages=2M:279"},
        /* It needs 195, and was given 100. */
        {"postgresql", 100, 0, 197, 0, 0, 0, 390, true, "short",
         "write Memory=auto or Pages=2M:197 into"},
        {"postgresql", 195, 0, 0, 0, 0, 0, 390, false, "lost", "systemctl restart pg.service"},
        /* Other memory of theirs, beside figures that are upper bounds, or generous. */
        {"mysql", 536, 528, 536, 128, 300, 200, 0, true, NULL, NULL},
        {"mysql", 1000, 528, 528, 128, 300, 200, 0, true, NULL, NULL},
        {"mariadb", 279, 275, 279, 320, 500, 400, 0, true, NULL, NULL},
        {"postgresql", 160, 139, 141, 0, 2000, 2000, 0, true, NULL, NULL},
};

TEST(servers) {
        for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
                Case *c = make(arena, servers[i].mapped, servers[i].mapped);
                const Sizing sizing = {.page_size_bytes = 2 * MIB,
                                       .pages = servers[i].needed,
                                       .bytes = servers[i].needed * 2 * MIB,
                                       .mapping_bytes = servers[i].piece_mib * MIB};
                MemoryMap *map = &c->look.map;

                c->instance.engine = servers[i].engine;
                c->instance.pages_wanted = c->instance.pages_granted = servers[i].given;
                c->instance.was_let_start = servers[i].was_let_start;
                c->input.sizing = sizing.pages > 0 ? &sizing : NULL;
                map->private_bytes = servers[i].private_mib * MIB;
                map->private_largest_bytes = servers[i].largest_mib * MIB;
                map->shared_bytes = servers[i].shared_mib * MIB;
                const Proof proof = judge(arena, c);

                print_message("%zu: %s\n", i, proof.why ? proof.why : "in use");
                assert_text(outcome_name(proof.outcome), servers[i].cause ? "fell-back" : "in-use");
                assert_text(fall_cause_names[proof.cause], servers[i].cause);
                if (servers[i].remedy)
                        assert_memory_equal(proof.remedy, servers[i].remedy,
                                            strlen(servers[i].remedy));
        }
}

/* Where hugeplan reserves nothing, that is the cause, whatever the settings say. */
TEST(aside) {
        Case *c = make(arena, 0, 0);

        c->instance.verdict = VERDICT_ASIDE;
        c->instance.reason = (Reason){REASON_STANDS_ASIDE, "switched off", "reboot"};
        c->look.map.shared_bytes = 500 * MIB;
        const Proof proof = judge(arena, c);

        assert_text(arena_printf(arena, "%s: %s, %s", fall_cause_names[proof.cause], proof.why,
                                 proof.remedy),
                    "lost: switched off, reboot");
}

/* None at all, without anything else to be seen: only after a while. */
TEST(starting) {
        Case *c = make(arena, 0, 0);

        c->look.age_usec = 59 * USEC_PER_SEC;
        assert_outcome(arena, c, OUTCOME_STARTING, true);
        c->look.age_usec = 60 * USEC_PER_SEC;
        assert_outcome(arena, c, OUTCOME_FELL_BACK, false);
        c->look.is_running = false;
        assert_outcome(arena, c, OUTCOME_NOT_STARTED, true);
}

static void set(Arena *arena, Settings *settings, const char *name, const char *value) {
        settings_add(arena, settings, name, value, "/etc/x.conf:3");
}

TEST(why) {
        Settings settings = {};
        Case *c = make(arena, 0, 0);

        c->look.map.shared_bytes = 278 * MIB;
        c->input.settings = &settings;
        set(arena, &settings, "huge_pages", "off");
        assert_text(judge(arena, c).why, "its huge_pages is off");
        assert_contains(judge(arena, c).remedy,
                        "enable them in its settings, then: systemctl restart pg.service; or,");
        assert_text(fall_cause_names[judge(arena, c).cause], "off");
        set(arena, &settings, "huge_pages", "on");
        assert_contains(judge(arena, c).why, "it was started with something else");
        /* What is wrong with another setting is no reason; with this one it is. */
        c->input.wrong = "/etc/x.conf cannot be read: Permission denied";
        assert_contains(judge(arena, c).why, "it was started with something else");
        c->instance.engine = "mariadb";
        assert_contains(judge(arena, c).why, "silently");
        c->input.wrong = "large_pages is not set, so MariaDB takes no huge pages";
        assert_text(judge(arena, c).why, c->input.wrong);
        c->instance.engine = "generic";
        assert_contains(judge(arena, c).why, "has not requested them");
        c->look.map.sysv_bytes = 278 * MIB;
        assert_contains(judge(arena, c).why, "without SHM_HUGETLB");
}

/* Enough was meant for it: when it was started, and whether it is there now. */
TEST(lost) {
        Case *c = make(arena, 0, 0);

        c->look.map.shared_bytes = 278 * MIB;
        assert_contains(judge(arena, c).why, "it has run since before its pages were reserved; ");
        c->instance.was_let_start = true;
        assert_contains(judge(arena, c).why, "it was allowed to start with 139 pages, and got 0; ");
        c->instance.pages_granted = 100;
        assert_contains(judge(arena, c).remedy,
                        "hugeplanctl status pg says why; once they are: systemctl restart");
        /* By the files a reload has another size: what it runs with is what it was let start with. */
        InstanceConfig config = {.memory_kind = MEMORY_AUTO};

        c->instance.pages_wanted = c->instance.pages_granted = 100;
        c->input.config = &config;
        assert_contains(judge(arena, c).remedy,
                        "hugeplanctl learn pg, then: systemctl restart pg.service");
}

static void assert_places(Arena *arena, Case *c, const char *expected) {
        const Proof proof = judge(arena, c);
        size_t n;
        const NodePages *places = proof_places(arena, &proof, &n);

        assert_text(render_nodes(arena, places, n), expected);
}

/* Memory went offline: the kernel has moved 9 of its pages. */
TEST(places) {
        NodePages granted = {2, 99}, used[] = {{0, 9}, {2, 50}};
        Case *c = make(arena, 99, 59);

        c->instance.nodes = &granted;
        c->instance.pages_wanted = c->instance.pages_granted = 99;
        c->look.pages.items[0].nodes = used;
        c->look.pages.items[0].n_nodes = 2;
        assert_places(arena, c, "0:9 2:90");
        c->look.pages.items[0].is_lower_bound = true; /* there may be more of them */
        assert_places(arena, c, "2:99");
        c->look.pages.n = 0;
        assert_places(arena, c, "2:99");
}

/* By its own settings it takes none, so that nobody has to wait a minute; but who has some was started with others. */
TEST(refusal) {
        Case *c = make(arena, 0, 0);

        c->look.age_usec = 1;
        c->instance.engine = "jvm";
        c->instance.pages_wanted = 0;
        c->input.wrong = "x.service: there is no -XX:+UseLargePages";
        assert_outcome(arena, c, OUTCOME_FELL_BACK, false);
        c = make(arena, 139, 100);
        c->instance.engine = "jvm";
        c->input.wrong = "x.service: there is no -XX:+UseLargePages";
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
}

TEST(idle) {
        Case *c = make(arena, 139, 69);

        c->look.age_usec = 3 * DAY + HOUR;
        c->look.pages.items[0].pages = 69;
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
        c->look.pages.items[0].pages = 68;
        const Proof proof = judge(arena, c);

        assert_text(proof_word(arena, &proof), "idle 3 d");
        c->look.age_usec = DAY - 1;
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
        /* Others may have touched more than was seen. */
        c->look.age_usec = 3 * DAY;
        c->look.pages.items[0].is_lower_bound = true;
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
}

/* Without the mappings: nothing is a fall back that is not counted from the start on. */
TEST(unknown) {
        Case *c = make(arena, 0, 0);

        c->look.has_map = c->look.is_all_mapped = false;
        *vec_push((Arena *) arena, &c->look.missing) =
                "mappings: only root may see those of process 812";
        assert_outcome(arena, c, OUTCOME_UNKNOWN, false);
        assert_text(judge(arena, c).why, "mappings: only root may see those of process 812");
        c->instance.is_counted = true;
        assert_outcome(arena, c, OUTCOME_FELL_BACK, false);
        c = make(arena, 20, 20);
        c->look.has_map = c->look.is_all_mapped = c->look.is_counted = false;
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
        assert_false(judge(arena, c).is_mapped_known);
        /* Which pages a segment is of was not found out. */
        c = make(arena, 0, 0);
        c->look.is_all_mapped = c->look.is_counted = false;
        c->look.map.doubtful_bytes = GIB;
        assert_outcome(arena, c, OUTCOME_UNKNOWN, false);
}

TEST(deviations) {
        NodePages others[] = {{0, 100}, {1, 45}};
        Case *c = make(arena, 145, 145);

        c->look.pages.items[0].nodes = others;
        c->look.pages.items[0].n_nodes = 2;
        *vec_push((Arena *) arena, &c->look.pages) =
                (PageUser){.page_size_bytes = GIB, .pages = 1, .mapped_pages = 2};
        const Proof proof = judge(arena, c);

        assert_int_equal(proof.deviations.n, 3);
        assert_text(proof.deviations.items[0].text, "it has taken 6 pages of 2M more than planned");
        assert_text(proof.deviations.items[1].text,
                    "45 pages of 2M are on node 1, where none were planned");
        assert_text(proof.deviations.items[2].text,
                    "it has taken 2 pages of 1G (2G), a size that was not planned for it");
        assert_false(proof.is_as_planned);
        /* What it wants is not known. */
        c->instance.page_size_bytes = c->instance.pages_wanted = 0;
        assert_int_equal(judge(arena, c).deviations.n, 0);
}

/* What it runs with counts, not what it has from its next start on. */
TEST(until_restart) {
        const StatusHold hold = {
                .page_size_bytes = 2 * MIB, .pages = 139, .nodes = &node0, .n_nodes = 1};
        Case *c = make(arena, 139, 139);

        c->instance.pages_wanted = 20;
        c->instance.until_restart = &hold;
        assert_outcome(arena, c, OUTCOME_IN_USE, true);
        assert_int_equal(judge(arena, c).wanted_pages, 139);
}

TEST(tables) {
        Case *c = make(arena, 139, 139);

        c->input.n_sessions_max = 400;
        const Proof proof = judge(arena, c);

        assert_int_equal(proof.small_tables_bytes, 278 * MIB / 512 * 10);
        assert_int_equal(proof.worst_tables_bytes, 278 * MIB / 512 * 400);
}

/* No bound is below what was measured, nor below what there would be besides, were the huge pages small ones. */
TEST(tables_are_a_bound) {
        static const struct {
                uint64_t base_page_bytes, mapped_pages, wanted_pages, small_bytes, tables_bytes;
                uint64_t up_to_bytes; /* of one process */
        } cases[] = {
                {4 * KIB, 50, 50, 0, 952 * KIB, 1152 * KIB},          /* Java */
                {4 * KIB, 100, 100, 128 * MIB, 480 * KIB, 880 * KIB}, /* MariaDB */
                {4 * KIB, 0, 139, 300 * MIB, 100 * KIB, 600 * KIB},   /* it fell back */
                {4 * KIB, 0, 139, 300 * MIB, 700 * KIB, 700 * KIB},   /* likewise */
                {4 * KIB, 100, 139, 200 * MIB, 100 * KIB, 800 * KIB}, /* with a part */
                {4 * KIB, 10, 200, 0, 100 * KIB, 800 * KIB},
                {16 * KIB, 144, 144, 0, 48 * KIB, (144 + 48) * KIB},
                {64 * KIB, 144, 144, 0, 0, 64 * KIB},
                {0, 144, 144, 0, 952 * KIB, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Case *c = make(arena, cases[i].mapped_pages, cases[i].mapped_pages);
                c->instance.pages_wanted = cases[i].wanted_pages;
                c->look.n_processes = 1;
                c->look.map.shared_bytes = cases[i].small_bytes;
                c->look.page_table_bytes = cases[i].tables_bytes;
                c->input.base_page_bytes = cases[i].base_page_bytes;
                c->input.n_sessions_max = 100;
                const Proof proof = judge(arena, c);

                assert_int_equal(proof.small_tables_bytes, cases[i].up_to_bytes);
                assert_int_equal(proof.worst_tables_bytes > 0, cases[i].base_page_bytes > 0);
        }
}

static WasteList waste_of(Arena *arena, Case *c, const InstanceConfig *config, UnitStart start) {
        const Proof proof = judge(arena, c);
        Proof *kept = arena_memdup(arena, &proof, sizeof(proof));
        WasteList list = {};

        waste_add_instance(arena, kept, config, start, &list);
        return list;
}

TEST(waste) {
        InstanceConfig config = {.engine = engine_find("postgresql"), .memory_kind = MEMORY_AUTO};
        Case *c = make(arena, 139, 100);
        WasteList list = waste_of(arena, c, &config, UNIT_START_WANTED);

        assert_int_equal(list.n, 1);
        assert_text(waste_kind_names[list.items[0].kind], "untouched");
        assert_int_equal(list.items[0].pages, 39);
        assert_text(list.items[0].command,
                    "lower shared_buffers, then: systemctl restart pg.service");
        c->look.age_usec = HOUR - 1; /* it may yet */
        assert_int_equal(waste_of(arena, c, &config, UNIT_START_WANTED).n, 0);
        /* An upper bound. */
        c->instance.pages_wanted = c->instance.pages_granted = 160;
        list = waste_of(arena, c, &config, UNIT_START_WANTED);
        assert_text(list.items[0].command, "hugeplanctl learn pg");
        config.memory_kind = MEMORY_BYTES;
        list = waste_of(arena, c, &config, UNIT_START_WANTED);
        assert_text(list.items[0].command,
                    "write Pages=139 into /etc/hugeplan.d/pg.conf, then: hugeplanctl reload");
        assert_int_equal(list.items[0].pages, 21);
        /* No fewer pages as long as small memory may be its own: shared, or not known. */
        c->look.map.shared_bytes = 18 * MIB;
        assert_int_equal(waste_of(arena, c, &config, UNIT_START_WANTED).n, 0);
        c->look.map.shared_bytes = 0;
        c->look.has_map = false;
        assert_int_equal(waste_of(arena, c, &config, UNIT_START_WANTED).n, 0);
        c->look.has_map = true;
        c->look.is_all_mapped = false; /* more may be mapped than was seen */
        assert_int_equal(waste_of(arena, c, &config, UNIT_START_WANTED).n, 0);
}

TEST(waste_of_absent) {
        Case *c = make(arena, 0, 0);

        c->look.is_running = false;
        assert_int_equal(waste_of(arena, c, NULL, UNIT_START_WANTED).n, 0);
        assert_text(waste_kind_names[waste_of(arena, c, NULL, UNIT_START_DISABLED).items[0].kind],
                    "disabled");
        const Waste gone = waste_of(arena, c, NULL, UNIT_START_GONE).items[0];

        assert_text(waste_kind_names[gone.kind], "no-unit");
        assert_int_equal(gone.pages, 139);
        assert_text(gone.command,
                    "hugeplanctl release pg; for good: remove /etc/hugeplan.d/pg.conf");
        c->instance.pages_granted = 15; /* not worth a word */
        assert_int_equal(waste_of(arena, c, NULL, UNIT_START_GONE).n, 0);
}

TEST(waste_of_segments) {
        PageUsers users = {};
        WasteList list = {};

        *vec_push((Arena *) arena, &users.list) =
                (PageUser){.command = "System V segment 17, no process attached",
                           .is_segment = true,
                           .segment_id = 17,
                           .page_size_bytes = 2 * MIB,
                           .pages = 64};
        *vec_push((Arena *) arena, &users.list) = (PageUser){
                .command = "a file without a process", .page_size_bytes = 2 * MIB, .pages = 64};
        waste_add_segments(arena, &users, &list);
        assert_int_equal(list.n, 1);
        assert_contains(list.items[0].command, "ipcrm -m 17");
}

TEST(ages) {
        assert_text(proof_format_age(arena, 59 * USEC_PER_SEC), "59 s");
        assert_text(proof_format_age(arena, HOUR - 1), "59 min");
        assert_text(proof_format_age(arena, DAY - 1), "23 h");
        assert_text(proof_format_age(arena, 45 * DAY), "45 d");
}
