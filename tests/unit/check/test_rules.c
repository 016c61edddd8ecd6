/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/rules.h"

#include "check/host_facts.h"
#include "render/views.h"
#include "support/sources.h"
#include "support/story.h"
#include "support/testing.h"

enum { FILES_MAX = 10 };

/* A host with an instance "db". Omitted members are those of a sound host. */
typedef struct Case {
        Arena *arena;
        const char *config;   /* of 20-db.conf */
        const char *host;     /* section [Host] of 00-host.conf */
        const char *other;    /* 30-other.conf */
        const char *learned;  /* 20-db.conf.d/90-learned.conf */
        const char *settings; /* settings of the product's files, one per line */
        const char *version;  /* the version of the product */
        const char *topology;
        const char *kernel; /* default: 6.12 */
        const char *boot_line;
        const char *sysctl;  /* /etc/sysctl.d/99.conf */
        const char *thp;     /* the kernel's policy */
        const char *held;    /* "UNIT PAGES" of 2M; "- PAGES" in a segment */
        const char *running; /* for running_make() */
        Outcome outcome;     /* of a look at the server; default: none */
        TestFile files[FILES_MAX];
} Case;

#define VERB(name, words) STORY_VERB(name, words, Case, c)

#define ONE_NODE "sizes 1G 2M\nnode 0 total=64G free=62G 1G=0/0/0 2M=0/0/0\n"

/* ---- a case becomes a host ---- */

static const Sources *case_sources(Arena *arena, const Case *c) {
        size_t n = test_files_count(c->files, FILES_MAX);

        return test_sources(arena, n > 0 ? c->files : &(TestFile){"/none", ""}, MAX(n, (size_t) 1));
}

/* "NAME=VALUE" lines of /etc/db.conf; "@ORIGIN NAME=VALUE": of another source. */
static Gathered *case_gathered(Arena *arena, const Case *c) {
        Gathered *gathered = ARENA_NEW(arena, Gathered);
        const char *rest = c->settings;
        char *line;

        *gathered = (Gathered){.problems = diags_in(arena),
                               .version = c->version,
                               .config_file = "/etc/db.conf",
                               .is_read = true};
        for (unsigned n = 1; (line = text_next_word(arena, &rest, "\n")); n++) {
                char *origin = arena_printf(arena, "/etc/db.conf:%u", n), *equals;

                if (*line == '@') {
                        origin = line + 1;
                        line = strchr(line, ' ');
                        *line++ = '\0';
                }
                equals = strchr(line, '=');
                *equals = '\0';
                settings_add(arena, &gathered->settings, line, equals + 1, origin);
        }
        return gathered;
}

/* Without settings: the result of reading the files, which mostly do not exist. */
static Figures case_figures(Arena *arena, const Case *c, const Config *config, const Plan *plan,
                            const Topology *topology) {
        Figures figures = {};
        Figure figure = {.instance = "db"};
        const InstanceConfig *instance = config_find(config, "db");
        uint64_t bytes = plan_find(plan, "db")->page_size_bytes;

        if (!c->settings) {
                const EngineTarget target = figures_target(instance, topology);

                if (engine_reader(instance->engine)->gather)
                        *vec_push(arena, &figures) =
                                gathered_figure(arena, instance->engine, &target,
                                                gathered_read(arena, instance->engine, &target,
                                                              case_sources(arena, c)),
                                                0);
                return figures;
        }
        figure.gathered = case_gathered(arena, c);
        figure.wrong = engine_size(instance->engine, arena, &figure.gathered->settings,
                                   bytes > 0 ? bytes : 2 * MIB, &figure.sizing);
        *vec_push(arena, &figures) = figure;
        return figures;
}

static PageUsers *case_page_users(Arena *arena, const Case *c) {
        PageUsers *page_users = ARENA_NEW(arena, PageUsers);
        const char *rest = c->held;
        uint64_t pages;

        if (!rest)
                return page_users;
        const char *unit = text_next_word(arena, &rest, " ");

        assert_int_equal(parse_u64(text_strip(arena, rest), &pages), 0);
        *vec_push(arena, &page_users->list) = (PageUser){
                .unit = *unit == '-' ? NULL : unit,
                .pid = *unit == '-' ? 0 : 812,
                .command = *unit == '-' ? "System V segment 7, no process attached" : "server",
                .is_segment = *unit == '-',
                .segment_id = 7,
                .page_size_bytes = 2 * MIB,
                .bytes = pages * 2 * MIB,
                .pages = pages,
                .mapped_pages = pages,
                .is_limited = text_equals(unit, "limited.service"),
        };
        return page_users;
}

/* By the function that decides it for all. */
static ProofList case_proofs(Arena *arena, const Case *c, const PageUsers *page_users,
                             const Plan *plan) {
        const PlanInstance *planned = plan_find(plan, "db");
        StatusInstance *instance = ARENA_NEW(arena, StatusInstance);
        ServerLook *look = ARENA_NEW(arena, ServerLook);
        ProofList proofs = {};

        *instance = (StatusInstance){.name = "db",
                                     .engine = planned->demand->config->engine->name,
                                     .unit = planned->demand->config->unit,
                                     .page_size_bytes = planned->page_size_bytes,
                                     .pages_wanted = planned->pages_wanted};
        *look = (ServerLook){.is_running = true, .has_map = true, .is_all_mapped = true};
        if (c->outcome == OUTCOME_FELL_BACK)
                look->map.shared_bytes = 2162 * MIB;
        vec_push_all(arena, &look->pages, &page_users->list);
        *vec_push(arena, &proofs) =
                proof_judge(arena, &(ProofInput){.instance = instance, .look = look});
        return c->outcome == OUTCOME_UNKNOWN ? (ProofList){} : proofs;
}

static const Config *case_config(Arena *arena, const Case *c) {
        const char *host = arena_printf(arena, "[Host]\n%s\n", c->host ? c->host : "");
        const char *other = c->other ? c->other : "";
        const char *learned = c->learned ? c->learned : "";
        Config *config = config_make(arena, "00-host.conf", host, "20-db.conf", c->config,
                                     "20-db.conf.d/90-learned.conf", learned, "30-other.conf",
                                     other, NULL);

        if (c->learned) {
                /* Learned sizes apply with Memory=auto. */
                InstanceConfig *instance = (InstanceConfig *) config_find(config, "db");

                instance->memory_kind = MEMORY_AUTO;
                instance->pages = (PageCounts){};
        }
        return config;
}

/* The files as they will be. */
static Overlay case_after(Arena *arena, const Sources *sources, const Config *config,
                          const Plan *plan, const Topology *topology) {
        Accounts accounts = accounts_read(arena, sources);
        Diags ignored = diags_in(arena);
        const HostPlanInput host_input = {
                .config = config, .plan = plan, .topology = topology, .accounts = &accounts};
        HostPlan *host = ARENA_NEW(arena, HostPlan);
        Dropins *dropins = ARENA_NEW(arena, Dropins);
        const DropinInput dropin_input = {
                .config = config,
                .ctl = "hugeplanctl",
                .has_group = account_find_group(arena, &accounts, "hugetlb"),
        };

        *host = host_plan_make(arena, &host_input, &ignored);
        *dropins = dropins_make(arena, &dropin_input);
        return host_after(arena, sources, config, plan, &host->writes, dropins);
}

/* Like the probe. */
static uint64_t read_limit(Arena *arena, const Sources *sources, const char *path) {
        SourceText text = source_read(sources, arena, path);
        uint64_t limit;

        return text.text && parse_u64(text_strip(arena, text.text), &limit) == 0 ? limit
                                                                                 : UINT64_MAX;
}

static SettingSources *case_setting_sources(Arena *arena, const Case *c, const Topology *topology) {
        SettingSources *setting_sources = setting_sources_new(arena, topology);

        if (c->sysctl)
                setting_sources_add_file(setting_sources,
                                         &(SettingSourceFile){SETTING_SOURCE_SYSCTL,
                                                              "/etc/sysctl.d/99.conf",
                                                              {c->sysctl, strlen(c->sysctl)}});
        if (c->boot_line)
                setting_sources_add_file(
                        setting_sources,
                        &(SettingSourceFile){SETTING_SOURCE_KERNEL_COMMAND_LINE,
                                             "/proc/cmdline",
                                             {c->boot_line, strlen(c->boot_line)}});
        setting_sources_finish(setting_sources);
        return setting_sources;
}

/* "919 pages of 2M (1.8G): 919 on node 0; ORIGIN; COMMAND", of each size. */
static const char *idle_text(Arena *arena, const HostView *view) {
        Text text = text_in(arena);

        ARRAY_FOREACH(size, view->topology->page_sizes, view->topology->n_page_sizes) {
                const IdlePages idle = idle_pages_find(arena, view, size->bytes);

                if (idle.pages > 0)
                        text_printf(&text, "%s%s: %s%s%s; %s", text.length > 0 ? "\n" : "",
                                    format_page_count_and_size(arena, idle.pages, size->bytes),
                                    idle.where, idle.origin ? "; " : "",
                                    idle.origin ? idle.origin : "", idle.command);
        }
        return text.string;
}

/* Limits that keep units from the pages of their instances. */
static const char *access_text(Arena *arena, const HostView *view) {
        const LoadedUnitInput input = {.config = view->config,
                                       .plan = view->plan,
                                       .topology = view->topology,
                                       .accounts = view->accounts};
        Diags problems = diags_in(arena);

        ARRAY_FOREACH(instance, view->facts->instances, view->facts->n_instances)
                if (instance->unit) {
                        const LoadedUnit unit = unit_facts_loaded(arena, instance->unit);

                        loaded_unit_judge_access(&input, &unit, &problems);
                }
        return problems_text(arena, &problems);
}

/* Other facts about the host. */
typedef struct OtherFindings {
        const char *idle, *access;
} OtherFindings;

static Findings judge_and_look(Arena *arena, const Case *c, OtherFindings *ret) {
        const Config *config = case_config(arena, c);
        Topology *topology = host_make(arena, c->topology ? c->topology : ONE_NODE);
        Diags problems = diags_in(arena);

        topology->kernel_release = c->kernel ? c->kernel : "6.12.107+deb13-amd64";
        if (c->thp)
                topology->thp_enabled = c->thp;
        topology->n_cpus = 4;
        topology->base_page_bytes = 4 * KIB;
        assert_text(problems_text(arena, &config->problems), "");
        Ledger *ledger = ledger_new(arena, topology->boot_id);
        Running running = running_make(arena, c->running ? c->running : "");

        ledger_observe(arena, ledger, topology, NULL);
        Plan *plan = plan_beside(arena, config, topology, ledger, &running);
        ThpPlan thp = thp_plan_make(arena, config, topology, 0, &problems);
        Figures figures = case_figures(arena, c, config, plan, topology);
        const Sources *sources = case_sources(arena, c);
        topology->limits = (KernelLimits){
                read_limit(arena, sources, "/proc/sys/kernel/shmmax"),
                read_limit(arena, sources, "/proc/sys/kernel/shmall"),
                read_limit(arena, sources, "/proc/sys/vm/hugetlb_shm_group"),
        };
        Overlay after = case_after(arena, sources, config, plan, topology);
        HostFacts *facts = host_facts_read(arena, &after.sources, config, topology, &figures);

        const PageUsers *page_users = case_page_users(arena, c);
        const ProofList proofs = case_proofs(arena, c, page_users, plan);
        const Accounts accounts = accounts_read(arena, sources);
        Diags conflicts = diags_in(arena);
        const HostView input = {
                .config = config,
                .topology = topology,
                .plan = plan,
                .ledger = ledger,
                .use = &running.use,
                .thp = &thp,
                .figures = &figures,
                .facts = facts,
                .accounts = &accounts,
                .page_users = page_users,
                .proofs = &proofs,
                .setting_sources = case_setting_sources(arena, c, topology),
        };

        *ret = (OtherFindings){idle_text(arena, &input), access_text(arena, &input)};
        conflicts_add(arena, &input, &conflicts);
        return rules_judge(arena, &input, &conflicts);
}

static Findings judge(Arena *arena, const Case *c) {
        OtherFindings others;

        return judge_and_look(arena, c, &others);
}

static const Finding *find(const FindingList *list, const char *id) {
        VEC_FOREACH(finding, list)
                if (text_equals(finding->diag.id, id))
                        return finding;
        return NULL;
}

/* ---- rules.stories ---- */

/* Each rule has a story without a finding and one with a finding. */
static bool has_story[RULE_KINDS][2];

VERB(do_file, "file no-file") {
        return story_change_files(line, c->files, FILES_MAX);
}

VERB(do_looked, "looked") {
        c->outcome = text_equals(line->words[1], "fell-back") ? OUTCOME_FELL_BACK : OUTCOME_IN_USE;
        return NULL;
}

/* The text of the finding. */
VERB(do_rule, "rule") {
        const Findings findings = judge(line->arena, c);
        const Finding *finding = find(&findings.list, line->words[1]);

        for (size_t i = 0; i < RULE_KINDS; i++)
                if (text_equals(rules[i].id, line->words[1]))
                        has_story[i][finding != NULL] = true;
        assert_true(!finding || finding->diag.remedy);
        return finding ? diag_format(line->arena, &finding->diag) : NULL;
}

VERB(do_idle, "idle") {
        OtherFindings others;

        judge_and_look(line->arena, c, &others);
        return others.idle;
}

VERB(do_access, "access") {
        OtherFindings others;

        judge_and_look(line->arena, c, &others);
        return *others.access ? others.access : NULL;
}

/* All of them in their order; "!": it hurts. */
VERB(do_findings, "findings") {
        const Findings findings = judge(line->arena, c);
        Text text = text_in(line->arena);
        size_t n_hurting = 0;

        VEC_FOREACH(finding, &findings.list) {
                bool hurts = rule_hurts(&finding->diag);

                text_add_word(&text, finding->diag.id);
                text_add(&text, hurts ? "!" : "");
                n_hurting += hurts;
        }
        VEC_FOREACH(finding, &findings.silenced)
                text_printf(&text, "; %s is silenced in line %u", finding->diag.id,
                            finding->silenced_by->line);
        assert_int_equal(findings_count_hurting(&findings), n_hurting);
        assert_int_equal(findings_count_mistakes(&findings), 0);
        return text_string(&text);
}

VERB(do_shown, "shown") {
        const Findings findings = judge(line->arena, c);

        return render_findings(line->arena, &findings, &(RenderOptions){});
}

VERB(do_nearest, "nearest") {
        return rule_nearest(line->rest);
}

VERB(do_may_be_silenced, "may-be-silenced") {
        return story_yes(rule_may_be_silenced(line->words[1]));
}

VERB(do_hurts, "hurts") {
        return story_yes(rule_hurts(&(Diag){.id = line->words[1]}));
}

VERB(do_slice, "slice") {
        return slice_group_path(line->arena, line->words[1]);
}

VERB(do_unit_size, "unit-size") {
        uint64_t bytes;
        int r = unit_size_parse(line->arena, line->words[1], &bytes);

        return r < 0                 ? strerrorname_np(-r)
               : bytes == UINT64_MAX ? "no limit"
                                     : story_number(line, bytes);
}

/* A member of the case; without a text, that of a sound host. */
static const char *set_text(void *context, const StoryLine *line) {
        Case *c = context;
        const struct {
                const char *name, **text;
                bool has_lines; /* one word each */
        } texts[] = {
                {"config", &c->config, true},
                {"host", &c->host, true},
                {"other", &c->other, true},
                {"learned", &c->learned, true},
                {"settings", &c->settings, true},
                {"version", &c->version, false},
                {"topology", &c->topology, false},
                {"kernel", &c->kernel, false},
                {"boot-line", &c->boot_line, false},
                {"sysctl", &c->sysctl, false},
                {"thp", &c->thp, false},
                {"held", &c->held, false},
                {"running", &c->running, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                if (text_equals(texts[i].name, line->words[0])) {
                        *texts[i].text = !line->words[1] ? NULL
                                         : texts[i].has_lines
                                                 ? story_lines(line, 1)
                                                 : story_unescape(line->arena, line->rest);
                        return NULL;
                }
        fail_msg("%s?", line->words[0]);
        return NULL;
}

TEST(each_rule) {
        static const StoryTeller teller = {
                .file = __FILE__, .size = sizeof(Case), .otherwise = set_text};

        story_tell("unit/check/rules", &teller);
        for (size_t i = 0; i < RULE_KINDS; i++)
                for (int has_finding = 0; has_finding < 2; has_finding++)
                        if (!has_story[i][has_finding])
                                fail_msg("no story of %s with %s", rules[i].id,
                                         has_finding ? "a finding" : "no finding");
}

/* An unknown word is no reason, and has no effect. */
TEST(reason_words) {
        ReasonKind kind = REASON_RELEASED;

        assert_int_equal(reason_from_id("no-reason-at-all", &kind), -EINVAL);
        assert_int_equal(kind, REASON_RELEASED);
        assert_int_equal(reason_from_id(reason_id(REASON_TAKEN), &kind), 0);
        assert_int_equal(kind, REASON_TAKEN);
}
