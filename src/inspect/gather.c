/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/gather.h"

#include "base/text.h"
#include "demand/figures.h"
#include "engines/reader.h"
#include "inspect/ask.h"
#include "inspect/confine.h"
#include "runtime/deadline.h"

#include <string.h>
#include <unistd.h>

/* Far above the 30 ms that MySQL takes. */
#define VERSION_USEC (3 * USEC_PER_SEC)

/* What the reader is to find out. */
typedef struct Errand {
        const Engine *engine;
        const EngineTarget *target;
        const Person *person;
        uint64_t deadline_usec;
        const SourceText *input;
} Errand;

/* ---- in the reader ---- */

static json_t *run_errand(void *userdata, Arena *arena, HostSources *sources) {
        const Errand *errand = userdata;

        sources->input = errand->input;
        Gathered *gathered =
                gathered_read(arena, errand->engine, errand->target, &sources->sources);

        if (sources->foreign)
                gathered->untrusted = arena_printf(
                        arena, "it is not asked, because others can change its settings: %s",
                        sources->foreign);
        return gathered_to_json(arena, gathered);
}

/* ---- in the caller ---- */

static bool is_denied(const char *text) {
        return text && strstr(text, strerror(EACCES));
}

bool gather_was_denied(const Figures *figures) {
        return VEC_ANY(
                figure, figures,
                is_denied(figure->wrong) ||
                        (figure->gathered && VEC_ANY(problem, &figure->gathered->problems.list,
                                                     is_denied(problem->text))));
}

static const char *send_reader(const Root *root, Arena *arena, Errand *errand, Gathered *ret) {
        json_auto_t *json = NULL;
        const char *wrong = reader_ask(root, arena, errand->person,
                                       MIN(READER_USEC, deadline_left_usec(errand->deadline_usec)),
                                       run_errand, errand, &json);

        if (wrong)
                return wrong;
        return gathered_from_json(arena, json, ret) < 0 ? READER_NO_ANSWER : NULL;
}

/* Sets the remedy for unreadable files. PERSON has tried to read them; NULL: this process's user has. */
static void explain_denied(Arena *arena, const Person *person, Gathered *gathered) {
        const char *remedy = "run this as root, which reads the database's files as their owner";

        if (person && geteuid() == 0)
                remedy = arena_printf(
                        arena,
                        "its files are read as %s: let that user read them, or name the database's owner in User=",
                        person->name);
        if (is_denied(gathered->incomplete))
                gathered->remedy = remedy;
        VEC_FOREACH(problem, &gathered->problems.list)
                if (is_denied(problem->text))
                        problem->remedy = remedy;
}

/* Asks ENGINE's program for the version, which sizes depend on: the files may lack it, or have an old one. */
static void complete_version(const Root *root, Arena *arena, const Errand *errand,
                             Gathered *gathered) {
        const EngineReader *reader = engine_reader(errand->engine);
        const HostSources sources = host_sources(root, arena);
        Question question = {};
        Version known = {}, said = {};
        const char *version;
        char *output;

        if (!reader->version_mark || gathered->untrusted || errand->target->is_alone)
                return;
        version_ask(arena, errand->engine, errand->target, &sources.sources, gathered, &question);
        question.user = errand->person->name;
        if (question.program.n == 0 ||
            ask(root, arena, &question, NULL,
                MIN(VERSION_USEC, deadline_left_usec(errand->deadline_usec)), &output) ||
            version_answer(arena, output, reader->version_mark, &version))
                return;
        /* The program's version may refine that of the files, whose major version is final. */
        if (gathered->version &&
            (parse_version(gathered->version, &known) < 0 || parse_version(version, &said) < 0 ||
             (known.n_known <= 1 && known.numbers[0] != said.numbers[0])))
                return;
        gathered->version = version;
        settings_add(
                arena, &gathered->settings, "server_version", version,
                arena_printf(arena, "%s --version", text_base_name(question.program.items[0])));
}

/* Sets *RET to the owner of the configuration found as GUESS. Returns whether that is another user. */
static bool find_better(Arena *arena, const Gathered *gathered, const Person *guess, Person *ret) {
        const char *const paths[] = {gathered->config_file, gathered->data_directory};

        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
                if (paths[i] && *paths[i] == '/' && owner_of_path(arena, paths[i], ret) &&
                    ret->uid != 0 && ret->gid != 0)
                        return ret->uid != guess->uid;
        return false;
}

const char *gather_whose(Arena *arena, const Gathered *gathered) {
        Person us = {}, better = {};

        owner_ourselves(arena, &us);
        return find_better(arena, gathered, &us, &better) ? owner_say_other(arena, &better) : NULL;
}

static const Gathered *gather_there(const Gatherer *gatherer, Arena *arena, const Engine *engine,
                                    const EngineTarget *target) {
        /* The gatherer is the first member. */
        const OwnerGatherer *owner = (const OwnerGatherer *) gatherer;
        const Root *root = owner->root;
        Person person = {}, better = {};
        Errand errand = {engine, target, &person, owner->deadline_usec, owner->input};
        Gathered *found = ARENA_NEW(arena, Gathered);

        if (!root_is_host(root)) {
                HostSources sources = host_sources(root, arena);

                sources.input = owner->input;
                found = gathered_read(arena, engine, target, &sources.sources);
                explain_denied(arena, NULL, found);
                return found;
        }
        bool is_guess;
        const char *wrong = owner_of_target(root, arena, engine, target, &person, &is_guess);

        if (!wrong)
                wrong = send_reader(root, arena, &errand, found);
        if (!wrong && is_guess && find_better(arena, found, &person, &better)) {
                errand.person = &better;
                wrong = send_reader(root, arena, &errand, found);
        }
        if (wrong) {
                *found = (Gathered){.problems = diags_in(arena), .incomplete = wrong};
                return found;
        }
        complete_version(root, arena, &errand, found);
        explain_denied(arena, errand.person, found);
        return found;
}

/* ---- Oracle's list of a host's instances ---- */

/* In the reader. JSON is UTF-8. */
static json_t *read_lines(void *path, Arena *arena, HostSources *sources) {
        const SourceText file = source_read(&sources->sources, arena, path);
        Text text = text_in(arena);

        SOURCE_FOREACH(line, arena, lines, &file)
                text_printf(&text, "%s\n",
                            text_is_utf8(line, strlen(line)) ? line : text_printable(arena, line));
        return json_string(text_string(&text));
}

void gather_oratab(const Root *root, Arena *arena, Overlay *overlay) {
        static const char *const paths[] = {"/etc/oratab", "/var/opt/oracle/oratab"};

        for (size_t i = 0; i < ARRAY_LEN(paths) && root_is_host(root); i++) {
                Person person;
                json_auto_t *text = NULL;

                if (!root_exists(root, paths[i]))
                        continue;
                owner_to_read(arena, paths[i], &person);
                reader_ask(root, arena, &person, READER_USEC, read_lines, (void *) paths[i], &text);
                overlay_put(overlay, paths[i], arena_strdup(arena, json_string_value(text) ?: ""));
        }
}

OwnerGatherer gather_as_owner(const Root *root) {
        return (OwnerGatherer){{gather_there}, root, UINT64_MAX, NULL};
}
