/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/learn/learn.h"

#include "base/text.h"
#include "ctl/daemon_call.h"
#include "ctl/verbs.h"
#include "demand/demand.h"
#include "demand/figures.h"
#include "demand/learned.h"
#include "demand/unit_policy.h"
#include "engines/reader.h"
#include "host/config_load.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "host/state.h"
#include "inspect/ask.h"
#include "inspect/gather.h"
#include "inspect/owner.h"
#include "inspect/pages/server_look.h"
#include "inspect/process_files.h"
#include "ipc/manager_interface.h"
#include "ipc/varlink_call.h"
#include "model/exit_code.h"
#include "runtime/deadline.h"
#include "runtime/log.h"
#include "runtime/service.h"
#include "status/json_value.h"

#include <string.h>
#include <unistd.h>

/* Of `learn`, and of a gate. */
static const uint64_t learn_timeout_usec = 60 * USEC_PER_SEC;
static const uint64_t gate_timeout_usec = 10 * USEC_PER_SEC;
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

/* ---- asking the server ---- */

/* DEADLINE_USEC is that of all questions together. */
static const char *run_question(Command *command, uint64_t deadline_usec, const Question *question,
                                const char *config_file, char **ret_output) {
        uint64_t left = deadline_left_usec(deadline_usec);

        if (left == 0)
                return "no time was left to ask it";
        return ask(command->root, command->arena, question, config_file, left, ret_output);
}

/* Asks the server, whose answers are exact and replace the formula's. If one question fails, the others are not asked. */
static void ask_sizes(Command *command, uint64_t deadline_usec, Lesson *lesson) {
        const EngineReader *reader = engine_reader(lesson->instance->engine);
        Arena *arena = command->arena;
        Figures asked = {};

        VEC_FOREACH(figure, &lesson->figures) {
                const Gathered *gathered = figure->gathered;
                uint64_t page_size_bytes = figure->sizing.page_size_bytes;
                Figure exact = *figure;
                Question question = {};
                char *output = NULL;

                if (!reader->ask || !reader->ask(arena, gathered, page_size_bytes, &question))
                        return;
                exact.sizing = (Sizing){.page_size_bytes = page_size_bytes};
                lesson->unasked = run_question(command, deadline_usec, &question,
                                               gathered->config_file, &output)
                                          ?: reader->answer(arena, gathered, output,
                                                            page_size_bytes, &exact.sizing);
                if (lesson->unasked)
                        return;
                exact.sizing.source = SIZING_WORD;
                *vec_push(arena, &asked) = exact;
        }
        lesson->figures = asked;
}

/* ---- the size ---- */

/* If the formula fails, the server is asked for the sizes that it may take, without the settings that were read in part. */
static void ask_without_formula(Command *command, uint64_t deadline_usec, const Topology *topology,
                                Lesson *lesson) {
        const EngineReader *reader = engine_reader(lesson->instance->engine);
        Arena *arena = command->arena;
        Gathered *bare = arena_memdup(arena, lesson->gathered, sizeof(Gathered));
        Lesson asked = *lesson;
        const uint64_t *sizes;
        size_t n = instance_page_sizes(arena, lesson->instance, topology, &sizes);

        bare->settings = (Settings){};
        asked.figures = asked.by_rule = (Figures){};
        asked.gathered = bare;
        ARRAY_FOREACH(size, sizes, n) {
                Question question;

                if (reader->ask && reader->ask(arena, lesson->gathered, *size, &question))
                        *vec_push(arena, &asked.figures) =
                                (Figure){.instance = lesson->instance->name,
                                         .gathered = bare,
                                         .sizing = {.page_size_bytes = *size}};
        }
        ask_sizes(command, deadline_usec, &asked);
        if (asked.unasked)
                lesson->wrong = arena_printf(arena, "%s; and the server did not answer: %s",
                                             lesson->wrong, asked.unasked);
        else if (asked.figures.n > 0) {
                asked.wrong = NULL;
                *lesson = asked;
        }
}

static Lesson find_out(Command *command, const InstanceConfig *instance, const Topology *topology,
                       uint64_t timeout_usec) {
        Arena *arena = command->arena;
        const Engine *engine = instance->engine;
        HostSources sources = host_sources(command->root, arena);
        OwnerGatherer owner = gather_as_owner(command->root);
        uint64_t deadline_usec = deadline_in(timeout_usec);
        Lesson lesson = {.instance = instance};

        if (!instance_learns_size(instance)) {
                const EngineTarget target = figures_target(instance, topology);
                Question question = {};
                char *output = NULL;

                version_ask(arena, engine, &target, &sources.sources, NULL, &question);
                lesson.wrong = run_question(command, deadline_usec, &question, NULL, &output)
                                       ?: version_answer(arena, output,
                                                         engine_reader(engine)->version_mark,
                                                         &lesson.version);
                return lesson;
        }
        /* The sizes by the formula, from the database's files. */
        owner.deadline_usec = deadline_usec;
        if (engine->has_auto)
                figures_add(arena, instance, topology, &owner.gatherer, &lesson.figures);
        VEC_FOREACH(figure, &lesson.figures) {
                lesson.gathered = figure->gathered;
                lesson.version = figure->gathered->version;
                if (figure->wrong)
                        lesson.wrong = figure->wrong;
                else
                        *vec_push(arena, &lesson.by_rule) = *figure;
        }
        if (lesson.figures.n == 0)
                lesson.wrong = engine->has_auto ? "the host has none of its page sizes"
                                                : "it cannot be determined before it runs";
        lesson.is_of_running = is_running(command, instance);
        if (engine->can_be_asked && !lesson.is_of_running) {
                if (!lesson.wrong)
                        ask_sizes(command, deadline_usec, &lesson);
                else if (lesson.gathered)
                        ask_without_formula(command, deadline_usec, topology, &lesson);
        } else if (engine->can_be_asked && !lesson.wrong) {
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

/* ---- messages ---- */

/* Logs that the size could not be found before the start, and WHY; and what is assumed instead. */
static void log_not_learned(Arena *arena, const Lesson *lesson, const char *why) {
        const InstanceConfig *instance = lesson->instance;
        const PageCounts pages = lesson_pages(arena, lesson);
        bool is_size = instance_learns_size(instance);
        const char *assumed = is_size && instance->memory_kind != MEMORY_AUTO ? ""
                              : is_size && pages.n > 0
                                      ? arena_printf(arena, "; it gets %s as before",
                                                     page_counts_format(arena, &pages))
                              : instance->learned.version
                                      ? arena_printf(arena, "; version %s is assumed as before",
                                                     instance->learned.version)
                              : !is_size && instance->engine->reserves
                                      ? "; if it uses System V segments, write SharedMemory=sysv"
                                      : "";

        /* With Memory=auto and nothing to assume, the start is refused. */
        log_line(instance->engine->has_auto && instance->memory_kind == MEMORY_AUTO ? LOG_WARNING
                 : pages.n > 0                                                      ? LOG_INFO
                                                                                    : LOG_NOTICE,
                 "%s: its %s is not known: %s%s", instance->name, is_size ? "size" : "version", why,
                 assumed);
}

/* Returns whether there is a size to store. Logs why not, or that it is an estimate. */
static bool conclude(Command *command, const Lesson *lesson) {
        const char *why = lesson->wrong ? lesson->wrong : lesson->unasked;
        LessonUse use = lesson_use(lesson);

        if (use == LESSON_KEEP || use == LESSON_UNKNOWN)
                log_not_learned(command->arena, lesson, why);
        else if (why)
                log_line(
                        LOG_WARNING, "%s: using %s: %s", lesson->instance->name,
                        VEC_ANY(figure, &lesson->figures, figure->sizing.source == SIZING_LEARNED)
                                ? "its last size, which is larger than the estimate for its current settings"
                                : "an estimate",
                        why);
        return use == LESSON_SAME || use == LESSON_LEARN;
}

/* ---- storing the size ---- */

/* Stores the size. Returns NULL, or why the next boot will not know it. */
static const char *store(Command *command, const Lesson *lesson, const Learned *learned,
                         const Topology *topology, uint64_t timeout_usec) {
        CLEANUP(daemon_reply_done) DaemonReply reply = {};
        Arena *arena = command->arena;
        int r = daemon_call(command, MANAGER_LEARN,
                            json_pack("{ss so}", "instance", lesson->instance->name, "learned",
                                      learned_to_json(learned)),
                            timeout_usec, &reply);

        if (text_equals(reply.error, VARLINK_ERROR_PERMISSION_DENIED))
                return "only root may store it";
        if (r >= 0)
                return reply.error ? arena_printf(arena, "hugepland does not accept it: %s",
                                                  reply.error)
                                   : text_from_json(arena, reply.parameters, "unkept");
        const Reason beyond = learned_beyond(arena, read_config(command), lesson->instance,
                                             topology, &learned->pages);

        if (beyond.kind != REASON_NONE)
                return arena_printf(arena, "%s; %s", beyond.text, beyond.remedy);
        if (lesson_use(lesson) == LESSON_SAME)
                return NULL;
        const LearnedFile file = learned_file(arena, lesson->instance, learned);

        r = root_store_file(command->root, file.path, file.text);
        return r < 0 ? strerror(-r) : NULL;
}

/* Returns whether the next boot will know the size. */
static bool store_and_log(Command *command, const Lesson *lesson, const Topology *topology,
                          uint64_t deadline_usec) {
        Arena *arena = command->arena;

        if (!conclude(command, lesson))
                return false;
        const Learned learned = learned_of(arena, lesson);
        const char *why =
                store(command, lesson, &learned, topology, deadline_left_usec(deadline_usec));

        if (why)
                log_line(LOG_WARNING,
                         "%s: the learned size is not stored: %s; the next boot will not know it",
                         lesson->instance->name, why);
        if (lesson_use(lesson) == LESSON_LEARN)
                log_line(LOG_NOTICE, "%s (%s)", learned_describe(arena, lesson->instance, &learned),
                         why ? "not stored"
                             : root_path(arena, command->root,
                                         learned_path(arena, lesson->instance)));
        return !why;
}

/* ---- what a running server has mapped ---- */

/* Whether the server was granted at least all of its HUGE and SMALL pages, and the unmapped ones are still free, so that
 * it could have mapped them. */
static bool could_have_mapped_more(Arena *arena, const Config *config,
                                   const InstanceConfig *instance, const Topology *topology,
                                   const PageCount *huge, uint64_t small_pages) {
        const Demand *demand = demand_compute(arena, config, topology, NULL);
        const DemandInstance *wanted = ARRAY_FIND(each, demand->instances, demand->n_instances,
                                                  text_equals(each->config->name, instance->name));
        int i = topology_page_size_index(topology, huge->page_size_bytes);

        if (!wanted || i < 0 || instance->shortage != SHORTAGE_REFUSE)
                return false;
        const DemandOption *option = ARRAY_FIND(each, wanted->options, wanted->n_options,
                                                each->page_size_bytes == huge->page_size_bytes);
        const PageSize *size = &topology->page_sizes[i];

        return option && option->pages >= huge->pages + small_pages &&
               sub_floored(size->free_pages, size->reserved_pages) >= small_pages;
}

Seen look_at_unit(Command *command, const Config *config, const InstanceConfig *instance,
                  const Topology *topology, const char **ret_why) {
        Arena *arena = command->arena;
        const Learned *learned = &instance->learned;

        *ret_why = NULL;
        if (!instance_is_looked_at(instance) || topology->n_page_sizes == 0)
                return (Seen){};
        if (ARRAY_SUM(each, config->instances, config->n_instances,
                      text_equals(each->unit, instance->unit)) != 1) {
                *ret_why = "its unit also runs other instances, which cannot be distinguished";
                return (Seen){};
        }
        const ServerHost host = server_host(command->root, arena, topology);
        const ServerLook look = server_look(&host, instance->engine, instance->unit, false);
        Seen seen = seen_of_unit(instance);

        if (!look.is_all_mapped) {
                *ret_why = look.missing.n > 0 ? look.missing.items[0] : NULL;
                return (Seen){};
        }
        VEC_FOREACH(user, &look.pages)
                if (user->page_size_bytes > 0)
                        *vec_push(arena, &seen.pages) =
                                (PageCount){user->page_size_bytes, page_user_kept_pages(user)};
        uint64_t size_bytes = seen.pages.n > 0          ? seen.pages.items[0].page_size_bytes
                              : instance->page_sizes[0] ? instance->page_sizes[0]
                                                        : topology->default_page_size_bytes;

        if (size_bytes == 0)
                return (Seen){};
        const PageCount huge = {size_bytes, page_counts_find(&seen.pages, size_bytes)};
        /* What the shared memory in small pages would take; less than a page does not matter. */
        uint64_t small_pages = look.map.unnamed_bytes < size_bytes
                                       ? 0
                                       : div_round_up(look.map.unnamed_bytes, size_bytes);
        bool has_all = instance->engine->maps_all_at_start && huge.pages > 0 &&
                       seen_is_likely(instance, size_bytes, huge.pages) && learned->pages.n > 0;
        /* Huge pages that the server was refused, as far as its small pages show. */
        uint64_t refused = small_pages == 0 || has_all ||
                                           could_have_mapped_more(arena, config, instance, topology,
                                                                  &huge, small_pages)
                                   ? 0
                                   : small_pages;

        seen.is_exact = look.missing.n == 0 && refused == 0 && seen.pages.n == 1;
        if (seen.pages.n == 0 && refused == 0 && small_pages > 0)
                *ret_why = "its huge pages are available, but it uses small pages: it does "
                           "not request huge pages; see its manual";
        if (seen.pages.n == 0 && refused > 0)
                *vec_push(arena, &seen.pages) = (PageCount){size_bytes, 0};
        if (seen.pages.n > 0)
                seen.pages.items[0].pages += refused;
        if (seen.pages.n == 0 || seen_is_likely(instance, size_bytes, seen.pages.items[0].pages))
                return seen;
        *ret_why = arena_printf(arena,
                                "it has mapped %s, but its settings required %s before its start: "
                                "it was started with other settings",
                                page_counts_format(arena, &seen.pages),
                                page_counts_format(arena, &learned->pages));
        seen.pages = (PageCounts){};
        seen.is_exact = false;
        return seen;
}

/* Learns from the mappings of the running server of an instance of CONFIG. Returns whether anything was seen and is
 * stored. */
static bool look_while_it_runs(Command *command, const Config *config, const char *name) {
        Arena *arena = command->arena;
        const InstanceConfig *instance = config_find(config, name);

        if (!instance || !instance_is_looked_at(instance) || !is_running(command, instance))
                return false;
        const char *why;
        Seen now = look_at_unit(command, config, instance,
                                probe_topology(command->root, arena, NULL), &why);

        if (why)
                log_line(LOG_NOTICE, "%s: the size that it has mapped is not stored: %s",
                         instance->name, why);
        if (now.pages.n == 0)
                return false;
        /* Its gate or the daemon may have stored something since CONFIG was read. */
        instance =
                config_find(config_load_called(command->root, arena, command->draft, name), name);
        if (!instance)
                return false;
        Learned learned = instance->learned;

        learned.seen = seen_merge(instance, &now);
        if (seen_is_same(&learned.seen, &instance->learned.seen) && !learned.is_broken)
                return true;
        const LearnedFile file = learned_file(arena, instance, &learned);
        const char *path = root_path(arena, command->root, file.path);
        int r = root_store_file(command->root, file.path, file.text);

        if (r < 0)
                log_line(
                        LOG_WARNING,
                        "%s: the measured size cannot be written to %s: %s; the next start will not know it",
                        instance->name, path, strerror(-r));
        log_line(LOG_NOTICE, "%s: measured: it has mapped %s (%s)", instance->name,
                 seen_format_pages(arena, &learned.seen), r < 0 ? "not stored" : path);
        return r == 0;
}

/* For administrators: finds and stores a size and reports it to the daemon, as the gate does before a start. */
int verb_learn(Command *command) {
        const char *name = command->arguments[0];
        const Config *config = read_config(command);
        const InstanceConfig *instance = config_find(config, name);
        uint64_t deadline_usec = deadline_in(learn_timeout_usec);

        if (log_aside(command, LOG_NOTICE))
                return EXIT_DONE;
        if (!instance)
                return fail_no_instance(command, name, config);
        if (root_is_host(command->root) && geteuid() != 0)
                return log_failure(EXIT_FAILED,
                                   "learn requires root: it asks databases as their owners, and "
                                   "stores the answers in /etc/hugeplan.d");
        if (instance->refusal)
                return log_failure(EXIT_FAILED, "%s: %s", name,
                                   diag_format(command->arena, instance->refusal));
        bool is_learning = may_learn(command, instance), is_known = is_learning;

        /* While the database runs it has the pages that it started with. */
        if (is_learning && (!is_running(command, instance) || instance->learned.pages.n == 0)) {
                const Topology *topology = probe_topology(command->root, command->arena, NULL);
                const Lesson lesson = learn_find(command, instance, topology);

                is_known = store_and_log(command, &lesson, topology, deadline_usec);
        }
        if (look_while_it_runs(command, read_config(command), name))
                return EXIT_DONE;
        if (!is_learning)
                log_line(LOG_NOTICE, "%s: there is nothing to learn: its size is %s", name,
                         instance->memory_kind == MEMORY_AUTO ? "measured while its unit runs"
                                                              : "configured");
        return is_known ? EXIT_DONE : EXIT_FAILED;
}

/* ---- before a start: by its gate ---- */

/* For a gate. The database's files are read only if their owner is this process's user. */
static Lesson find_out_ours(Command *command, const InstanceConfig *instance,
                            const Topology *topology, uint64_t timeout_usec) {
        const EngineTarget target = figures_target(instance, NULL);
        const char *wrong = NULL;
        bool is_guess = false;

        if (root_is_host(command->root) && geteuid() != 0 && instance_learns_size(instance) &&
            instance->engine->has_auto)
                wrong = owner_why_not_us(command->root, command->arena, instance->engine, &target,
                                         &is_guess);
        /* Without a known owner the files are taken for the unit's; what is read may yet show another owner. */
        if (wrong && !is_guess)
                return (Lesson){.instance = instance, .wrong = wrong};
        Lesson lesson = find_out(command, instance, topology, timeout_usec);

        if (is_guess && lesson.gathered)
                lesson.wrong = gather_whose(command->arena, lesson.gathered) ?: lesson.wrong;
        lesson_take_larger(command->arena, &lesson);
        return lesson;
}

static bool learns_for_start(const Command *command, const InstanceConfig *instance) {
        return instance && instance_is_learning(instance) &&
               (command->is_restart || is_ours(command, instance));
}

bool learn_for_start(Command *command, const char *name, Learned *ret) {
        Arena *arena = command->arena;
        /* Only the files named after the instance are read if they suffice. */
        const InstanceConfig *instance =
                config_find(config_load_called(command->root, arena, command->draft, name), name);

        if (instance && !instance->refusal && !learns_for_start(command, instance))
                return false;
        instance = config_find(read_config(command), name);
        if (!learns_for_start(command, instance))
                return false;
        uint64_t wait_usec = command->has_timeout ? command->timeout_usec
                                                  : instance->wait_timeout_usec;
        const Lesson lesson = find_out_ours(command, instance,
                                            probe_topology(command->root, arena, NULL),
                                            MIN(gate_timeout_usec, wait_usec / 4));

        if (!conclude(command, &lesson))
                return false;
        *ret = learned_of(arena, &lesson);
        if (instance->memory_kind == MEMORY_AUTO) {
                const PageCounts pages = learned_pages(arena, instance, ret);

                VEC_FOREACH(count, &pages)
                        *vec_push(arena, &command->found) = learned_figure(name, count);
        }
        return true;
}

/* ---- before a reload ---- */

void learn_for_reload(Command *command) {
        const Config *config = read_config(command);
        const Topology *topology = probe_topology(command->root, command->arena, NULL);

        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                if (!may_learn(command, instance) || instance->learned.pages.n > 0 ||
                    instance->engine->has_auto_by_looking)
                        continue;
                service_notify("EXTEND_TIMEOUT_USEC=%" PRIu64,
                               ASK_TIMEOUT_USEC + answer_margin_usec);
                const Lesson lesson = learn_find(command, instance, topology);

                store_and_log(command, &lesson, topology, deadline_in(ANSWER_USEC));
        }
        const Config *now = read_config(command);

        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (!instance->learned.seen.unit ||
                    (instance->memory_kind == MEMORY_AUTO && instance->learned.seen.pages.n == 0))
                        look_while_it_runs(command, now, instance->name);
}
