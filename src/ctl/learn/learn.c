/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/learn/learn.h"

#include "base/json.h"
#include "base/text.h"
#include "ctl/daemon_call.h"
#include "ctl/learn/look.h"
#include "demand/figures.h"
#include "demand/lesson_json.h"
#include "engines/version.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "host/unit_cgroup.h"
#include "inspect/ask.h"
#include "inspect/gather.h"
#include "inspect/owner.h"
#include "inspect/reader.h"
#include "ipc/manager_interface.h"
#include "ipc/varlink_server.h"
#include "model/names.h"
#include "plan/thp_plan.h"
#include "runtime/deadline.h"
#include "runtime/log.h"
#include "runtime/service.h"
#include "state/learned_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On top of what asking takes, before systemd has to hear that a reload goes on. */
static const uint64_t answer_margin_usec = 10 * USEC_PER_SEC;

/* As root; or below another root, where rights are those of files, and there are no programs. */
static bool may_learn(const Command *command, const InstanceConfig *instance) {
        return instance_is_learning(instance) &&
               (root_is_host(command->root) ? geteuid() == 0
                                            : instance->memory_kind == MEMORY_AUTO);
}

/* A supervisor is about to start it again, and has its unit run on (daemon/clients/relearn.h). */
static bool is_restarting(const Command *command, const InstanceConfig *instance) {
        return root_exists(command->root,
                           arena_printf(command->arena, PATH_RESTARTING "%s", instance->name));
}

static bool is_running(const Command *command, const InstanceConfig *instance) {
        return instance->unit && !is_restarting(command, instance) &&
               unit_cgroup_is_populated(command->root, instance->unit) &&
               !unit_cgroup_has_process(command->root, instance->unit, getpid());
}

/* ---- the server's own word ---- */

typedef struct Asking {
        Command *command;
        const InstanceConfig *instance;
        uint64_t deadline_usec; /* for all questions together */
} Asking;

static const char *run_question(const Asking *asking, const Question *question,
                                const char *config_file, char **ret_output) {
        uint64_t left = deadline_left_usec(asking->deadline_usec);

        if (left == 0)
                return "there was no time left to ask";
        return ask(asking->command->root, asking->command->arena, question, config_file, left,
                   ret_output);
}

/* Exact, in place of what the rule says; false: there is no such question. */
static bool ask_size(const Asking *asking, Figure *figure, const char **ret_why) {
        const EngineReader *reader = engine_reader(asking->instance->engine);
        Arena *arena = asking->command->arena;
        uint64_t page_size_bytes = figure->sizing.page_size_bytes;
        Sizing answered = {.page_size_bytes = page_size_bytes};
        Question question = {};
        char *output = NULL;

        if (!reader->ask || !reader->ask(arena, figure->gathered, page_size_bytes, &question))
                return false;
        *ret_why = run_question(asking, &question, figure->gathered->config_file, &output);
        if (!*ret_why)
                *ret_why =
                        reader->answer(arena, figure->gathered, output, page_size_bytes, &answered);
        if (!*ret_why) {
                figure->sizing = answered;
                figure->sizing.source = SIZING_WORD;
        }
        return true;
}

/* One that is not answered is answer enough: the others are not asked. */
static void ask_sizes(const Asking *asking, Lesson *lesson) {
        Figures asked = {};

        VEC_FOREACH(figure, &lesson->figures) {
                Figure exact = *figure;
                const char *why = NULL;

                if (!ask_size(asking, &exact, &why))
                        return;
                if (why) {
                        lesson->unasked = why;
                        return;
                }
                *vec_push(asking->command->arena, &asked) = exact;
        }
        lesson->figures = asked;
}

/* ---- lesson out ---- */

/* By the rule, from the database's own files. */
static void find_sizes(Command *command, const Topology *topology, Lesson *lesson) {
        OwnerGatherer owner = gather_as_owner(command->root);

        if (!lesson->instance->engine->has_auto) {
                lesson->wrong = "nothing tells it before it runs";
                return;
        }
        figures_add(command->arena, lesson->instance, topology, &owner.gatherer, &lesson->figures);
        VEC_FOREACH(figure, &lesson->figures) {
                lesson->gathered = figure->gathered;
                lesson->version = figure->gathered->version;
                if (figure->wrong)
                        lesson->wrong = figure->wrong;
                else
                        *vec_push(command->arena, &lesson->by_rule) = *figure;
        }
        if (lesson->figures.n == 0)
                lesson->wrong = "the host has none of its page sizes";
}

/* Where the rule does not know, the server still may: it is asked without a word of settings that were read in part. */
static void ask_all_the_same(const Asking *asking, const Topology *topology, Lesson *lesson) {
        Arena *arena = asking->command->arena;
        Gathered *bare = arena_memdup(arena, lesson->gathered, sizeof(Gathered));
        Lesson asked = *lesson;
        const uint64_t *sizes;
        size_t n = figures_page_sizes(arena, lesson->instance, topology, &sizes);

        bare->settings = (Settings){};
        asked.figures = asked.by_rule = (Figures){};
        asked.gathered = bare;
        asked.version = bare->version;
        ARRAY_FOREACH(size, sizes, n)
                *vec_push(arena, &asked.figures) = (Figure){.instance = lesson->instance->name,
                                                            .gathered = bare,
                                                            .sizing = {.page_size_bytes = *size}};
        ask_sizes(asking, &asked);
        if (asked.unasked)
                lesson->wrong = arena_printf(arena, "%s; nor did the server say it: %s",
                                             lesson->wrong, asked.unasked);
        else if (n > 0 && !VEC_ANY(figure, &asked.figures, !figure->sizing.is_exact)) {
                asked.wrong = NULL;
                *lesson = asked;
        }
}

static Lesson find_out(Command *command, const InstanceConfig *instance, const Topology *topology) {
        HostSources sources = host_sources(command->root);
        const Asking asking = {command, instance, deadline_in(ASK_TIMEOUT_USEC)};
        Lesson lesson = {.instance = instance};

        if (!instance_learns_size(instance)) {
                const EngineReader *reader = engine_reader(instance->engine);
                const EngineTarget target = figures_target(instance, topology);
                Question question = {};
                char *output = NULL;

                reader->ask_version(command->arena, &target, &sources.sources, NULL, &question);
                lesson.wrong = run_question(&asking, &question, NULL, &output);
                if (!lesson.wrong)
                        lesson.wrong = version_answer(command->arena, output, reader->version_mark,
                                                      &lesson.version);
                return lesson;
        }
        find_sizes(command, topology, &lesson);
        lesson.is_of_running = is_running(command, instance);
        if (instance->engine->can_be_asked && !lesson.is_of_running) {
                if (!lesson.wrong)
                        ask_sizes(&asking, &lesson);
                else if (lesson.gathered)
                        ask_all_the_same(&asking, topology, &lesson);
        } else if (instance->engine->can_be_asked && !lesson.wrong) {
                lesson.unasked = "a running server cannot be asked";
        }
        lesson_hold_to(topology, &lesson);
        lesson.is_exact = !lesson.wrong && lesson.figures.n > 0 &&
                          !VEC_ANY(figure, &lesson.figures, !figure->sizing.is_exact);
        return lesson;
}

Lesson learn_find(Command *command, const InstanceConfig *instance, const Topology *topology) {
        Lesson lesson = find_out(command, instance, topology);

        lesson_take_larger(command->arena, &lesson);
        return lesson;
}

/* ---- keeping it ---- */

static void say_learned(Arena *arena, const Lesson *lesson, const char *path) {
        const Learned *before = &lesson->instance->learned;
        PageCounts pages = lesson_pages(arena, lesson);

        if (pages.n == 0)
                log_line(LOG_NOTICE, "%s: learned that it is %s %s (%s)", lesson->instance->name,
                         lesson->instance->engine->title, lesson->version, path);
        else
                log_line(LOG_NOTICE, "%s: learned that it takes %s%s%s%s (%s)",
                         lesson->instance->name, page_counts_format(arena, &pages),
                         lesson->is_exact ? "" : ", an estimate",
                         before->pages.n > 0 ? "; before it was " : "",
                         before->pages.n > 0 ? page_counts_format(arena, &before->pages) : "",
                         path);
}

/* False where it could not be written. */
static bool keep(Command *command, const Lesson *lesson) {
        Arena *arena = command->arena;
        const char *path = learned_path(arena, lesson->instance);
        const Learned learned = learned_of(arena, lesson);
        int r = learned_save(command->root, arena, lesson->instance, &learned);

        if (r < 0)
                log_line(
                        LOG_WARNING,
                        "%s: what was learned cannot be written to %s: %s; the next boot will not know it",
                        lesson->instance->name, root_path(arena, command->root, path),
                        strerror(-r));
        say_learned(arena, lesson, r < 0 ? "not kept" : root_path(arena, command->root, path));
        return r == 0;
}

/* Of one whose size is given: it is but asked whether that will do. */
static void say_unknown_beside(const Lesson *lesson, const char *why) {
        log_line(LOG_NOTICE, "%s: whether its size as given will do is not known: %s",
                 lesson->instance->name, why);
}

/* What there was to be found out before its start was not, WHY. */
static void say_not_learned(Arena *arena, const Lesson *lesson, const char *why) {
        const InstanceConfig *instance = lesson->instance;
        const Learned *last = &instance->learned;
        const PageCounts pages = lesson_pages(arena, lesson);
        bool is_size = instance_learns_size(instance);

        if (is_size && instance->memory_kind != MEMORY_AUTO)
                say_unknown_beside(lesson, why);
        else if (instance->engine->reserves && !is_size && !last->version)
                log_line(
                        LOG_NOTICE,
                        "%s: the version of %s is not known, so it is taken for one that uses no System V segments; if it does, write SharedMemory=sysv: %s",
                        instance->name, instance->engine->title, why);
        else if (lesson_use(lesson) == LESSON_KEEP && (!is_size || last->pages.n == 0))
                log_line(LOG_WARNING, "%s is taken for version %s as before: %s", instance->name,
                         last->version, why);
        else if (lesson_use(lesson) == LESSON_KEEP)
                log_line(LOG_WARNING, "%s keeps its last figure, %s%s: %s", instance->name,
                         page_counts_format(arena, &pages),
                         lesson->wrong ? ", though its settings may be others now" : "", why);
        else if (pages.n > 0)
                log_line(instance->engine->has_auto ? LOG_WARNING : LOG_INFO,
                         "%s takes what was seen of it, %s: %s", instance->name,
                         page_counts_format(arena, &pages), why);
        else
                log_line(instance->engine->has_auto_by_looking ? LOG_NOTICE : LOG_WARNING,
                         "%s: its %s is not known: %s", instance->name,
                         is_size ? "size" : "version", why);
}

/* Says what was made of it, and keeps it where it is new and hugepland takes it. Whether it is what stands in the file
 * now. */
static bool conclude(Command *command, const Lesson *lesson, bool is_taken) {
        const char *why = lesson->wrong ? lesson->wrong : lesson->unasked;
        LessonUse use = lesson_use(lesson);

        if (use == LESSON_KEEP || use == LESSON_UNKNOWN)
                say_not_learned(command->arena, lesson, why);
        else if (why)
                log_line(
                        LOG_WARNING, "%s: %s has to do: %s", lesson->instance->name,
                        VEC_ANY(figure, &lesson->figures, figure->sizing.source == SIZING_LEARNED)
                                ? "its last figure, which is larger than the estimate for its settings as they are now,"
                                : "an estimate",
                        why);
        return use == LESSON_SAME || (use == LESSON_LEARN && is_taken && keep(command, lesson));
}

/* ---- making use of it ---- */

/* False where the daemon takes no such figure. That it is not there, or does not know the instance yet, is not said: the
 * verdict, which is asked for next, does. */
static bool grow(Command *command, const InstanceConfig *instance, const Topology *topology,
                 const PageCounts *counts, uint64_t timeout_usec) {
        json_t *reply = NULL;
        char *error_name = NULL;
        PageCounts taken = {};

        /* What is left of COUNTS once page sizes that the instance no longer takes are gone. */
        ARRAY_FOREACH(size, instance->page_sizes, instance->n_page_sizes) {
                uint64_t bytes = *size ? *size : topology->default_page_size_bytes;
                uint64_t pages = page_counts_find(counts, bytes);

                if (pages > 0)
                        *vec_push(command->arena, &taken) = (PageCount){bytes, pages};
        }
        if (taken.n == 0)
                return true;
        int r = daemon_call(command, MANAGER_GROW,
                            json_pack("{ss so}", "instance", instance->name, "pages",
                                      page_counts_to_json(&taken)),
                            timeout_usec, &reply, &error_name);
        bool is_refused =
                r == 0 && text_equals(error_name, VARLINK_ERROR_INVALID_PARAMETER) &&
                text_equals(json_string_value(json_object_get(reply, "parameter")), "pages");

        if (r == 0 && error_name)
                log_line(LOG_WARNING, "%s: hugepland does not take what was learned%s: %s",
                         instance->name, is_refused ? ", so it is not kept" : "", error_name);
        free(error_name);
        json_decref(reply);
        return !is_refused;
}

/* A new preference for transparent huge pages concerns the whole host, so that it takes a reload. */
static void adopt_preference(Command *command, const Lesson *lesson, uint64_t timeout_usec) {
        const InstanceConfig *instance = lesson->instance;
        ThpPolicy preference;
        char *error_name = NULL;
        json_t *reply = NULL;

        if (lesson_use(lesson) != LESSON_LEARN || instance->thp != THP_AUTO ||
            engine_thp_preference(instance->engine, lesson->version, &preference) < 0 ||
            preference == thp_preference_of(instance))
                return;
        int r = daemon_call(command, MANAGER_RELOAD, NULL, timeout_usec, &reply, &error_name);

        if (r == 0)
                log_line(
                        error_name ? LOG_WARNING : LOG_NOTICE,
                        error_name
                                ? "%s: its preference for transparent huge pages, '%s', cannot be met before the next reload: %s"
                                : "%s: it wants transparent huge pages '%s' now, and hugeplan was reloaded",
                        instance->name,
                        preference == THP_AUTO ? "as they are" : thp_policy_name(preference),
                        error_name);
        free(error_name);
        json_decref(reply);
}

/* Whether it is known to the next boot. */
static bool make_use(Command *command, const Lesson *lesson, const Topology *topology,
                     uint64_t deadline_usec) {
        const PageCounts counts = lesson_pages(command->arena, lesson);
        bool is_taken = lesson->instance->memory_kind != MEMORY_AUTO ||
                        grow(command, lesson->instance, topology, &counts,
                             deadline_left_usec(deadline_usec));
        const Reason beyond = lesson_beyond(command->arena, read_config(command), topology, lesson);

        if (beyond.kind != REASON_NONE)
                log_line(LOG_WARNING, "%s: %s; it is not kept: %s", lesson->instance->name,
                         beyond.text, beyond.remedy);
        bool is_known = conclude(command, lesson, is_taken && beyond.kind == REASON_NONE);

        adopt_preference(command, lesson, deadline_left_usec(deadline_usec));
        return is_known;
}

/* NULL: there is nothing to learn. */
static const InstanceConfig *find_learning(Command *command, const char *name) {
        const InstanceConfig *instance = config_find(read_config(command), name);

        return instance && may_learn(command, instance) ? instance : NULL;
}

bool learn_is_due(const Command *command, const InstanceConfig *instance) {
        return !is_running(command, instance) || instance->learned.pages.n == 0;
}

/* Beside what is learned by now: with that it holds. Whether something was seen, and is kept. */
static bool look_while_it_runs(Command *command, const char *name) {
        const InstanceConfig *instance = config_find(read_config(command), name);

        if (!instance || !instance_is_looked_at(instance) || !is_running(command, instance))
                return false;
        const Seen now = look_now(command, instance);

        return look_keep(command, instance, &now, false);
}

bool learn_now(Command *command, const char *name, uint64_t timeout_usec) {
        uint64_t deadline_usec = deadline_in(timeout_usec);
        const InstanceConfig *instance = find_learning(command, name);
        bool is_known = instance != NULL;

        if (instance && learn_is_due(command, instance)) {
                const Topology *topology = probe_topology(command->root, command->arena);
                const Lesson lesson = learn_find(command, instance, topology);

                is_known = make_use(command, &lesson, topology, deadline_usec);
        }
        if (look_while_it_runs(command, name))
                return true;
        if (!instance)
                log_line(
                        LOG_NOTICE,
                        "%s: there is nothing to be learned: its size is given, or it is only seen "
                        "while its unit runs",
                        name);
        return is_known;
}

/* ---- before a start: as the owner, and what he has said ---- */

/* Whose it is depends on files and users that the generator cannot know, which has chosen us. */
static const char *why_not_ours(Command *command, const InstanceConfig *instance,
                                bool *ret_is_guess) {
        const EngineTarget target = figures_target(instance, NULL);

        *ret_is_guess = false;
        if (!root_is_host(command->root) || !instance_learns_size(instance) ||
            !instance->engine->has_auto)
                return NULL;
        return owner_why_not_us(command->root, command->arena, instance->engine, &target,
                                ret_is_guess);
}

Lesson learn_as_owner(Command *command, const InstanceConfig *instance) {
        const Topology *topology = probe_topology(command->root, command->arena);
        bool is_guess;
        const char *wrong = why_not_ours(command, instance, &is_guess);

        if (wrong)
                return (Lesson){.instance = instance, .wrong = wrong};
        Lesson lesson = find_out(command, instance, topology);

        if (is_guess && lesson.gathered)
                wrong = gather_whose(command->arena, lesson.gathered);
        if (wrong)
                lesson.wrong = wrong;
        return lesson;
}

/* What it says for itself stands in root's log: as its words, and no more of them than a sentence. */
static void quote_owner(Command *command, Lesson *lesson) {
        const char *who = arena_printf(command->arena,
                                       "hugeplan-ask@%s.service, as its owner, says",
                                       lesson->instance->name);

        if (lesson->wrong)
                lesson->wrong = text_quote(command->arena, who, lesson->wrong);
        if (lesson->unasked)
                lesson->unasked = text_quote(command->arena, who, lesson->unasked);
}

static Lesson take_answer(Command *command, const InstanceConfig *instance,
                          const Topology *topology, const char *answer, size_t size) {
        Lesson lesson = {.instance = instance};
        const uint64_t *page_sizes;
        size_t n = figures_page_sizes(command->arena, instance, topology, &page_sizes);
        json_t *json = json_loadb(answer, size, JSON_REJECT_DUPLICATES, NULL);

        if (!json || lesson_from_json(command->arena, json, instance, page_sizes, n, &lesson) < 0)
                lesson.wrong = READER_NO_ANSWER;
        else
                quote_owner(command, &lesson);
        lesson_hold_to(topology, &lesson);
        lesson.is_of_running = is_running(command, instance);
        lesson_take_larger(command->arena, &lesson);
        json_decref(json);
        return lesson;
}

void learn_answer(Command *command, const char *name, const char *answer, size_t size,
                  const char *wrong, uint64_t timeout_usec) {
        uint64_t deadline_usec = deadline_in(timeout_usec);
        const InstanceConfig *instance = find_learning(command, name);

        if (!instance ||
            (!wrong && size == strlen(LEARN_NOTHING) && memcmp(answer, LEARN_NOTHING, size) == 0))
                return;
        if (!wrong && size == 0)
                wrong = "hugeplan-ask@.service, which asks it as its owner, gave no answer";
        const Topology *topology = probe_topology(command->root, command->arena);
        const Lesson lesson = wrong ? (Lesson){.instance = instance, .wrong = wrong}
                                    : take_answer(command, instance, topology, answer, size);

        make_use(command, &lesson, topology, deadline_usec);
}

/* ---- before a reload ---- */

void learn_for_reload(Command *command) {
        const Config *config = read_config(command);
        const Topology *topology = probe_topology(command->root, command->arena);

        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                if (!may_learn(command, instance) || instance->learned.pages.n > 0 ||
                    instance->engine->has_auto_by_looking)
                        continue;
                service_extend_timeout(ASK_TIMEOUT_USEC + answer_margin_usec);
                const Lesson lesson = learn_find(command, instance, topology);

                conclude(command, &lesson, true);
        }
        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (!instance->learned.seen.unit ||
                    (instance->memory_kind == MEMORY_AUTO && instance->learned.seen.pages.n == 0))
                        look_while_it_runs(command, instance->name);
}
