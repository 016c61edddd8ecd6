/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What systemd has in effect for a unit, and whether that suits its instances. */

#include "model/problem.h"
#include "read/unit_file.h"
#include "support/sources.h"
#include "support/story.h"
#include "units/loaded_unit.h"

#define OURS  "/run/systemd/generator/x.service.d/10-hugeplan.conf"
#define LATER "/etc/systemd/system/x.service.d/zz.conf"

static const char postgresql[] = "[Instance]\nPages=10\nUnit=x.service\n";
static const char oracle[] = "[Instance]\nEngine=oracle\nPages=10\nUnit=x.service\n";
static const char host_text[] = "sizes 2M\nnode 0 total=4G free=3G\nnode 1 total=4G free=3G\n";

static SourceNames names(Arena *arena, const char *words) {
        SourceNames list = {};
        const char *word;

        while ((word = text_next_word(arena, &words, "|")))
                *vec_push(arena, &list) = word;
        return list;
}

/* The correct state. */
static LoadedUnit healthy(Arena *arena) {
        return (LoadedUnit){
                .name = "x.service",
                .load_state = "loaded",
                .dropins = names(arena, OURS),
                .after = names(arena, "hugeplan.service"),
                .pre_starts = names(arena, "/usr/bin/hugeplanctl wait a"),
                .memory_lock_bytes = 8 * MIB,
                .user = "db",
                .group = "",
        };
}

static const char *judge_on(Arena *arena, const Config *config, const LoadedUnit *unit,
                            const char *kernel, const char *groups) {
        Topology *host = host_make(arena, host_text);
        Diags problems = diags_in(arena);
        Accounts accounts = accounts_read(
                arena,
                TEST_SOURCES(arena, {"/etc/group", groups}, {"/etc/passwd", "db:x:9:17::/:/b\n"}));
        const LoadedUnitInput input = {config, plan_simple(arena, config, host), host, &accounts};
        LoadedUnits units = {};

        host->kernel_release = kernel;
        *vec_push(arena, &units) = *unit;
        loaded_units_judge(&input, &units, &problems);
        return problems_text(arena, &problems);
}

static const char *judge(Arena *arena, const char *text, const LoadedUnit *unit) {
        return judge_on(arena, config_make(arena, "a.conf", text, NULL), unit, "6.1.0",
                        "hugetlb:x:990:\n");
}

TEST(healthy) {
        LoadedUnit unit = healthy(arena);

        assert_text(judge(arena, postgresql, &unit), "");
        unit.groups = names(arena, "hugetlb");
        assert_text(judge(arena, oracle, &unit), "");
}

PLAIN_VERB(do_gate, "gate") {
        const LoadedUnit unit = {.name = "x.service", .pre_starts = names(line->arena, line->rest)};

        return story_yes(
                loaded_unit_has_gates(config_make(line->arena, "a.conf", postgresql, NULL), &unit));
}

/* ACTIVE-STATE SUB-STATE CONTROL-PID MAIN-PID PID */
PLAIN_VERB(do_start, "start") {
        const LoadedUnit unit = {
                .active_state = text_equals(line->words[1], "-") ? "" : line->words[1],
                .sub_state = text_equals(line->words[2], "-") ? "" : line->words[2],
                .control_pid = (uint32_t) story_number_at(line, 3),
                .main_pid = (uint32_t) story_number_at(line, 4),
        };

        return story_yes(loaded_unit_starts_by(&unit, (uint32_t) story_number_at(line, 5)));
}

STORY_TEST(stories, "unit/units/loaded_unit")

TEST(reset) {
        LoadedUnit unit = healthy(arena);

        unit.pre_starts = (SourceNames){};
        unit.dropins = names(arena, OURS "|" LATER);
        assert_text(judge(arena, postgresql, &unit),
                    OURS ": x.service starts without asking for the pages of a: its gate is read, "
                         "but not in effect after " LATER
                         "; remove the empty ExecStartPre= that 'systemctl cat x.service' shows, "
                         "or write the gate again below it (hugeplan.d(5), THE GATE); then run "
                         "'systemctl daemon-reload'");
        unit.dropins = names(arena, OURS);
        assert_contains(judge(arena, postgresql, &unit), "systemd has not read its gate; run ");
}

/* One message per unit, with the names of its instances. */
TEST(shared_unit) {
        const Config *config = config_make(arena, "a.conf", postgresql, "b.conf", postgresql,
                                           "c.conf", postgresql, "y.conf",
                                           "[Instance]\nPages=1\nUnit=y.service\n", NULL);
        LoadedUnit unit = healthy(arena);

        assert_contains(judge_on(arena, config, &unit, "6.1.0", ""),
                        "x.service starts without asking for the pages of b, c: ");
        /* An instance with a broken file keeps its gate. */
        unit.pre_starts = (SourceNames){};
        assert_contains(judge(arena, "[Instance]\nPages=x\nUnit=x.service\n", &unit),
                        "pages of a: ");
}

/* A deliberate setting is a notice without a remedy. */
TEST(masked_gate) {
        const char *own = "/etc/systemd/system/x.service.d/10-hugeplan.conf";
        LoadedUnit unit = healthy(arena);
        Diags problems = diags_in(arena);

        unit.pre_starts = (SourceNames){};
        unit.dropins = names(arena, own);
        const char *text = judge(arena, postgresql, &unit);

        assert_text(text, "/etc/systemd/system/x.service.d/10-hugeplan.conf: x.service "
                          "starts without asking for the pages of a: this file replaces the "
                          "gate, which is allowed");
        unit.dropins = (SourceNames){};
        unit.override = own; /* a link to /dev/null is no drop-in */
        assert_text(judge(arena, postgresql, &unit), text);
        loaded_unit_judge_gates(config_make(arena, "a.conf", postgresql, NULL), &unit, &problems);
        assert_int_equal(diags_count(&problems, SEVERITY_NOTICE), 1);
        /* A gate of the administrator's own is no problem. */
        unit.pre_starts = names(arena, "/usr/bin/hugeplanctl wait a");
        assert_text(judge(arena, postgresql, &unit), "");
}

/* Each problem is reported once. */
TEST(dropin_is_missing) {
        const Config *config = config_make(arena, "a.conf", postgresql, NULL);
        LoadedUnit unit = healthy(arena);
        Diags problems = diags_in(arena);

        unit.pre_starts = unit.dropins = (SourceNames){};
        diags_add(&problems, &(Diag){.id = problem_id(PROBLEM_DROPIN_MISSING), .file = OURS});
        loaded_unit_judge_gates(config, &unit, &problems);
        assert_int_equal(problems.list.n, 1);
        problems = diags_in(arena);
        diags_add(&problems, &(Diag){.id = problem_id(PROBLEM_DROPIN_MISSING), .file = "/other"});
        loaded_unit_judge_gates(config, &unit, &problems);
        assert_int_equal(problems.list.n, 2);
}

TEST(states) {
        LoadedUnit unit = {.name = "x.service", .load_state = "not-found"};

        assert_text(judge(arena, postgresql, &unit),
                    "/etc/hugeplan.d/a.conf:3: Unit: systemd does not know x.service, "
                    "which is to wait for the pages of a; name an existing unit, or "
                    "install it; then run 'systemctl daemon-reload'");
        unit.load_state = "masked";
        assert_text(judge(arena, postgresql, &unit),
                    "/etc/hugeplan.d/a.conf:3: Unit: x.service is masked and cannot be "
                    "started; the pages of a stay reserved; remove the instance's "
                    "file, or run 'systemctl unmask x.service'");
        unit.load_state = "bad-setting";
        assert_contains(judge(arena, postgresql, &unit),
                        "systemd does not accept x.service (bad-setting): it cannot be "
                        "started; run 'systemd-analyze verify x.service'");
        unit = healthy(arena);
        unit.is_outdated = true;
        assert_text(judge(arena, postgresql, &unit),
                    "the files of x.service have changed since systemd read them; run "
                    "'systemctl daemon-reload'");
        /* Of a unit that no instance names any more. */
        unit.name = "y.service";
        unit.is_outdated = false;
        assert_text(judge(arena, postgresql, &unit), "");
}

/* An administrator's policy wins. It is a problem if pages are on other nodes. */
TEST(nodes) {
        LoadedUnit unit = healthy(arena);

        id_set_add(&unit.policy.nodes, 0);
        assert_text(judge(arena, postgresql, &unit), "");
        unit.policy.kind = MEMORY_POLICY_BIND;
        assert_text(judge(arena, postgresql, &unit),
                    "/etc/hugeplan.d/a.conf: Nodes: x.service may use memory of node 0 only, and 5 "
                    "pages of 2M of a are elsewhere: it starts, and is killed by SIGBUS when it "
                    "touches them; write Nodes=0 here, or let the unit use all nodes of the "
                    "instance");
        assert_text(judge(arena, "[Instance]\nPages=10\nUnit=x.service\nNodes=0\n", &unit), "");
        id_set_add(&unit.policy.nodes, 1);
        assert_text(judge(arena, postgresql, &unit), "");
        unit.policy.nodes = (IdSet){};
        assert_text(judge(arena, postgresql, &unit), "");
}

TEST(group) {
        static const char wrong[] =
                "/etc/hugeplan.d/a.conf: SharedMemory: x.service is loaded without the group "
                "hugetlb: the kernel refuses a its System V segment of 10 pages of 2M; systemctl "
                "edit x.service: [Service] SupplementaryGroups=hugetlb";
        const Config *config = config_make(arena, "a.conf", oracle, NULL);
        LoadedUnit unit = healthy(arena);

        assert_text(judge(arena, oracle, &unit), wrong);
        unit.memory_lock_bytes = UINT64_MAX; /* no longer counts */
        unit.groups = names(arena, "dba");
        assert_text(judge(arena, oracle, &unit), wrong);
        assert_text(judge(arena, postgresql, &unit), "");
        /* The ways to get access: member, primary group of the user or the unit, by number, as root, by capability. */
        assert_text(judge_on(arena, config, &unit, "6.1.0", "hugetlb:x:990:you,db\n"), "");
        assert_text(judge_on(arena, config, &unit, "6.1.0", "hugetlb:x:17:\n"), "");
        assert_text(judge_on(arena, config, &unit, "6.1.0", "other:x:1:\n"), "");
        unit.groups = names(arena, "990");
        assert_text(judge(arena, oracle, &unit), "");
        unit.groups = (SourceNames){};
        unit.group = "hugetlb";
        assert_text(judge(arena, oracle, &unit), "");
        unit.group = "";
        unit.user = "";
        assert_text(judge(arena, oracle, &unit), "");
        unit.user = "db";
        unit.may_lock = true;
        assert_text(judge(arena, oracle, &unit), "");
}

/* Before Linux 5.16 a sufficient limit gives access as well. */
TEST(memory_lock) {
        const Config *config = config_make(arena, "a.conf", oracle, NULL);
        LoadedUnit unit = healthy(arena);

        assert_contains(judge_on(arena, config, &unit, "5.14.0", "hugetlb:x:990:\n"),
                        "x.service is loaded with LimitMEMLOCK=8388608, and not in the group "
                        "hugetlb: the kernel refuses a ");
        unit.memory_lock_bytes = 20 * MIB;
        assert_text(judge_on(arena, config, &unit, "5.14.0", "hugetlb:x:990:\n"), "");
        assert_text(judge_on(arena, config, &unit, "5.14.0-162.6.1.el9_1", "hugetlb:x:990:\n"), "");
        /* RHEL 9.2 has the newer rule. */
        assert_contains(judge_on(arena, config, &unit, "5.14.0-284.11.1.el9_2", "hugetlb:x:990:\n"),
                        "x.service is loaded without the group hugetlb");
}

/* systemd also tells what the unit starts. */
TEST(starts) {
        LoadedUnit unit = healthy(arena);
        const char *text = "[Instance]\nEngine=postgresql\nMemory=1G\nUnit=x.service\n";

        *vec_push(arena, &unit.starts) = "/usr/bin/pg_ctlcluster 15-main start";
        assert_text(judge(arena, text, &unit), "");
        unit.starts.items[0] = "/bin/true";
        assert_text(judge(arena, text, &unit),
                    "/etc/hugeplan.d/a.conf:4: Unit: x.service starts /bin/true, which "
                    "is not PostgreSQL: its gate does not hold back the database of a; name the "
                    "unit that starts it; then run 'systemctl daemon-reload' and "
                    "'hugeplanctl reload'");
}

TEST(order) {
        LoadedUnit unit = healthy(arena);

        unit.after = names(arena, "sysinit.target|basic.target");
        assert_text(judge(arena, postgresql, &unit), "");
        unit.after = names(arena, "local-fs.target");
        assert_contains(judge(arena, postgresql, &unit),
                        "Unit: x.service is not ordered after hugeplan.service: at boot its gate "
                        "may ask before anything is reserved; ");
        unit.pre_starts = (SourceNames){};
        assert_null(strstr(judge(arena, postgresql, &unit), "ordered"));
}

/* The same result from the files, if systemd is not asked. */
TEST(of_files) {
        const TestFile files[] = {
                {"/usr/lib/systemd/system/x.service",
                 "[Service]\nExecStartPre=/bin/mkdir /run/x\n"},
                {OURS, "[Service]\nExecStartPre=/usr/bin/hugeplanctl wait a\n"},
                {"/etc/systemd/system/x.service.d/05-early.conf", "[Service]\nExecStartPre=\n"},
                {LATER, "[Service]\nNice=1\nExecStartPre=\nExecStartPre=/bin/true\n"},
        };
        const Config *config = config_make(arena, "a.conf", postgresql, NULL);

        for (size_t n = 2; n <= ARRAY_LEN(files); n++) {
                const UnitFile *file =
                        unit_file_read(arena, test_sources(arena, files, n), "x.service");
                LoadedUnit unit = unit_search_loaded(arena, "x.service", file);
                Diags problems = diags_in(arena);

                assert_text(unit.load_state, "loaded");
                assert_int_equal(unit.dropins.n, n - 1);
                loaded_unit_judge_gates(config, &unit, &problems);
                assert_int_equal(problems.list.n, n == ARRAY_LEN(files));
                if (problems.list.n > 0)
                        assert_contains(problems_text(arena, &problems),
                                        "its gate is read, but not in effect after " LATER);
        }
        const UnitFile *none = unit_file_read(arena, test_sources(arena, files, 0), "x.service");

        assert_text(unit_search_loaded(arena, "x.service", none).load_state, "not-found");
}
