/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/learn/learn.h"

#include "base/text.h"
#include "ctl/daemon_call.h"
#include "ctl/learn/look.h"
#include "ctl/verbs.h"
#include "demand/figures.h"
#include "demand/learned_json.h"
#include "engines/reader.h"
#include "host/config_load.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "host/state.h"
#include "inspect/ask.h"
#include "inspect/gather.h"
#include "inspect/owner.h"
#include "inspect/process_files.h"
#include "ipc/manager_interface.h"
#include "model/exit_code.h"
#include "runtime/deadline.h"
#include "runtime/log.h"
#include "runtime/service.h"
#include "status/json_value.h"

#include <string.h>
#include <unistd.h>

/* Added to the time of the questions, before systemd must be told that a reload goes on. */
static const uint64_t answer_margin_usec = 10 * USEC_PER_SEC;

/* Only root may learn, except below another root, where no programs are run. */
static bool may_learn(const Command *command, const InstanceConfig *instance) {
        return instance_is_learning(instance) &&
               (root_is_host(command->root) ? geteuid() == 0
                                            : instance->memory_kind == MEMORY_AUTO);
}

/* Whether this process belongs to the instance's unit, as its gate does. */
static bool is_ours(const Command *command, const InstanceConfig *instance) {
        return instance->unit && unit_cgroup_is_own(command->root, instance->unit);
}

static bool is_running(const Command *command, const InstanceConfig *instance) {
        return instance->unit && unit_cgroup_is_populated(command->root, instance->unit) &&
               !is_ours(command, instance);
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

/* Asks the server, whose answer is exact and replaces the formula's. Returns false if the engine cannot be asked. */
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

/* If one question fails, the others are not asked. */
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

/* Computes the sizes by the formula from the database's files. */
static void find_sizes(const Asking *asking, const Topology *topology, Lesson *lesson) {
        Command *command = asking->command;
        OwnerGatherer owner = gather_as_owner(command->root);

        owner.deadline_usec = asking->deadline_usec;
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

/* If the formula fails, the server is asked, without the settings that were read in part. */
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

static Lesson find_out(Command *command, const InstanceConfig *instance, const Topology *topology,
                       uint64_t timeout_usec) {
        HostSources sources = host_sources(command->root, command->arena);
        const Asking asking = {command, instance, deadline_in(timeout_usec)};
        Lesson lesson = {.instance = instance};

        if (!instance_learns_size(instance)) {
                const EngineReader *reader = engine_reader(instance->engine);
                const EngineTarget target = figures_target(instance, topology);
                Question question = {};
                char *output = NULL;

                version_ask(command->arena, instance->engine, &target, &sources.sources, NULL,
                            &question);
                lesson.wrong = run_question(&asking, &question, NULL, &output);
                if (!lesson.wrong)
                        lesson.wrong = version_answer(command->arena, output, reader->version_mark,
                                                      &lesson.version);
                return lesson;
        }
        find_sizes(&asking, topology, &lesson);
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
        Lesson lesson = find_out(command, instance, topology, ASK_TIMEOUT_USEC);

        lesson_take_larger(command->arena, &lesson);
        return lesson;
}

/* ---- what is said of it ---- */

/* Logs that the size could not be found before the start, and WHY. */
static void say_not_learned(Arena *arena, const Lesson *lesson, const char *why) {
        const InstanceConfig *instance = lesson->instance;
        const Learned *last = &instance->learned;
        const PageCounts pages = lesson_pages(arena, lesson);
        bool is_size = instance_learns_size(instance);

        if (is_size && instance->memory_kind != MEMORY_AUTO)
                log_line(LOG_NOTICE, "%s: whether its size as given will do is not known: %s",
                         instance->name, why);
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

/* Returns whether there is a size to store. Logs why not, or that it is an estimate. */
static bool conclude(Command *command, const Lesson *lesson) {
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
        return use == LESSON_SAME || use == LESSON_LEARN;
}

/* ---- keeping it ---- */

/* Stores the size without a daemon. Returns NULL, or why that failed. */
static const char *keep_alone(Command *command, const Lesson *lesson, const Learned *learned,
                              const Topology *topology) {
        const Reason beyond = learned_beyond(command->arena, read_config(command), lesson->instance,
                                             topology, &learned->pages);

        if (beyond.kind != REASON_NONE)
                return arena_printf(command->arena, "%s; %s", beyond.text, beyond.remedy);
        if (lesson_use(lesson) == LESSON_SAME)
                return NULL;
        const LearnedFile file = learned_file(command->arena, lesson->instance, learned);
        int r = learned_file_store(command->root, &file);

        return r < 0 ? strerror(-r) : NULL;
}

/* Stores the size. Returns NULL, or why the next boot will not know it. */
static const char *keep(Command *command, const Lesson *lesson, const Learned *learned,
                        const Topology *topology, uint64_t timeout_usec) {
        CLEANUP(daemon_reply_done) DaemonReply reply = {};
        int r = daemon_call(command, MANAGER_LEARN,
                            json_pack("{ss so}", "instance", lesson->instance->name, "learned",
                                      learned_to_json(learned)),
                            timeout_usec, &reply);

        if (r < 0)
                return keep_alone(command, lesson, learned, topology);
        return reply.error
                       ? arena_printf(command->arena, "hugepland does not take it: %s", reply.error)
                       : text_from_json(command->arena, reply.parameters, "unkept");
}

/* Returns whether the next boot will know the size. */
static bool make_use(Command *command, const Lesson *lesson, const Topology *topology,
                     uint64_t deadline_usec) {
        Arena *arena = command->arena;

        if (!conclude(command, lesson))
                return false;
        const Learned learned = learned_of(arena, lesson);
        const char *why =
                keep(command, lesson, &learned, topology, deadline_left_usec(deadline_usec));

        if (why)
                log_line(LOG_WARNING,
                         "%s: what was learned is not kept: %s; the next boot will not know it",
                         lesson->instance->name, why);
        if (lesson_use(lesson) == LESSON_LEARN)
                log_line(LOG_NOTICE, "%s (%s)", learned_describe(arena, lesson->instance, &learned),
                         why ? "not kept"
                             : root_path(arena, command->root,
                                         learned_path(arena, lesson->instance)));
        return !why;
}

/* Returns NULL if there is nothing to learn. */
static const InstanceConfig *find_learning(Command *command, const char *name) {
        const InstanceConfig *instance = config_find(read_config(command), name);

        return instance && may_learn(command, instance) ? instance : NULL;
}

/* Whether the database does not run, as far as can be seen, or has no learned size. While it runs it has the pages that
 * it started with. */
static bool is_due(const Command *command, const InstanceConfig *instance) {
        return !is_running(command, instance) || instance->learned.pages.n == 0;
}

/* Learns from the mappings of the running server. Returns whether anything was seen and stored. */
static bool look_while_it_runs(Command *command, const char *name) {
        const InstanceConfig *instance = config_find(read_config(command), name);

        if (!instance || !instance_is_looked_at(instance) || !is_running(command, instance))
                return false;
        const char *why;
        const Seen now = look_at_unit(command, instance,
                                      probe_topology(command->root, command->arena), &why);

        if (why)
                log_line(LOG_NOTICE, "%s: what it has mapped is not kept: %s", name, why);
        return look_keep(command, instance, &now);
}

/* Finds the size of NAME, has its reservation changed and the size stored, within about TIMEOUT_USEC, and logs the
 * result. Returns false if the next boot will not know the size, or there is none. */
static bool learn_now(Command *command, const char *name, uint64_t timeout_usec) {
        uint64_t deadline_usec = deadline_in(timeout_usec);
        const InstanceConfig *instance = find_learning(command, name);
        bool is_known = instance != NULL;

        if (instance && is_due(command, instance)) {
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

/* For administrators: finds and stores a size and reports it to the daemon, as the gate does before a start. */
int verb_learn(Command *command) {
        const char *name = command->arguments[0];
        const Config *config = read_config(command);

        if (is_switched_off(command))
                return EXIT_DONE;
        if (!config_find(config, name))
                return fail_no_instance(command, name, config);
        if (root_is_host(command->root) && geteuid() != 0) {
                log_line(LOG_ERR, "learn is for root: it asks databases as their owners, and keeps "
                                  "what they say in /etc/hugeplan.d");
                return EXIT_FAILED;
        }
        uint64_t timeout_usec = command->has_timeout ? command->timeout_usec : LEARN_USEC;

        return learn_now(command, name, timeout_usec) ? EXIT_DONE : EXIT_FAILED;
}

/* ---- before a start: by its gate ---- */

/* Returns why this process must not read the database's files, whose owner may differ from the unit's user; NULL: it
 * may. */
static const char *why_not_ours(Command *command, const InstanceConfig *instance,
                                bool *ret_is_guess) {
        const EngineTarget target = figures_target(instance, NULL);

        *ret_is_guess = false;
        if (!root_is_host(command->root) || geteuid() == 0 || !instance_learns_size(instance) ||
            !instance->engine->has_auto)
                return NULL;
        const char *wrong = owner_why_not_us(command->root, command->arena, instance->engine,
                                             &target, ret_is_guess);

        /* Without a known owner the files are taken for the unit's; what is read may yet show another owner. */
        return *ret_is_guess ? NULL : wrong;
}

static Lesson find_out_ours(Command *command, const InstanceConfig *instance,
                            const Topology *topology, uint64_t timeout_usec) {
        bool is_guess;
        const char *wrong = why_not_ours(command, instance, &is_guess);

        if (wrong)
                return (Lesson){.instance = instance, .wrong = wrong};
        Lesson lesson = find_out(command, instance, topology, timeout_usec);

        if (is_guess && lesson.gathered)
                lesson.wrong = gather_whose(command->arena, lesson.gathered) ?: lesson.wrong;
        lesson_take_larger(command->arena, &lesson);
        return lesson;
}

static const uint64_t gate_timeout_usec = 10 * USEC_PER_SEC;

static bool learns_for_start(const Command *command, const InstanceConfig *instance) {
        return instance && instance_is_learning(instance) &&
               (command->is_restart || is_ours(command, instance));
}

/* Returns NULL if there is nothing to learn for NAME. Reads only the files named after the instance if they suffice. */
static const InstanceConfig *find_starting(Command *command, const char *name) {
        const Config *called =
                config_load_called(command->root, command->arena, command->draft, name);
        const InstanceConfig *instance = config_find(called, name);

        if (instance && !instance->refusal && !learns_for_start(command, instance))
                return NULL;
        instance = config_find(read_config(command), name);
        return learns_for_start(command, instance) ? instance : NULL;
}

bool learn_for_start(Command *command, const char *name, Learned *ret) {
        const InstanceConfig *instance = find_starting(command, name);

        if (!instance)
                return false;
        uint64_t wait_usec = command->has_timeout ? command->timeout_usec
                                                  : instance->wait_timeout_usec;
        const Topology *topology = probe_topology(command->root, command->arena);
        const Lesson lesson =
                find_out_ours(command, instance, topology, MIN(gate_timeout_usec, wait_usec / 4));

        if (!conclude(command, &lesson))
                return false;
        *ret = learned_of(command->arena, &lesson);
        if (instance->memory_kind == MEMORY_AUTO) {
                const PageCounts pages = learned_pages(command->arena, instance, ret);

                VEC_FOREACH(count, &pages)
                        *vec_push(command->arena, &command->found) =
                                learned_figure(instance->name, count);
        }
        return true;
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

                make_use(command, &lesson, topology, deadline_in(ANSWER_USEC));
        }
        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (!instance->learned.seen.unit ||
                    (instance->memory_kind == MEMORY_AUTO && instance->learned.seen.pages.n == 0))
                        look_while_it_runs(command, instance->name);
}
