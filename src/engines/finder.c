/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "engines/engine_rows.h"
#include "engines/finder_inside.h"
#include "model/name_check.h"

#include <string.h>

/* More than that on one host is not believed. */
enum { CANDIDATES_MAX = 256, PASSED_OVER_MAX = 256, NAME_LENGTH_MAX = 64 };

/* ---- candidates ---- */

/* Two traces of one database: its unit, or its data. The same path in two containers is not the same. */
static bool is_same(const Candidate *a, const Candidate *b) {
        if (a->target.unit && b->target.unit)
                return text_equals(a->target.unit, b->target.unit);
        if (a->is_elsewhere || b->is_elsewhere)
                return a->is_elsewhere && b->is_elsewhere && text_equals(a->found, b->found);
        if (a->target.data_directory && b->target.data_directory)
                return text_equals(a->target.data_directory, b->target.data_directory);
        return a->engine == b->engine && text_equals(a->name, b->name);
}

/* As an instance can be called, and as no other is. */
static const char *instance_name(const Finder *finder, const char *name) {
        char *valid = arena_strndup(finder->arena, name, NAME_LENGTH_MAX - strlen("-256"));
        const char *unique = valid;

        for (char *at = valid; *at; at++)
                if (*at == '\\' || *at == '/')
                        *at = '-';
        for (unsigned i = 2; VEC_ANY(other, &finder->candidates, text_equals(other->name, unique));
             i++)
                unique = arena_printf(finder->arena, "%s-%u", valid, i);
        return unique;
}

/* What was found first stands: units and packages tell more than processes do. */
void finder_add(Finder *finder, const Candidate *found) {
        Candidate candidate = *found;

        candidate.is_elsewhere = candidate.is_elsewhere || finder->is_elsewhere;
        if (candidate.is_elsewhere)
                candidate.target.data_directory = NULL;
        Candidate *known = VEC_FIND(other, &finder->candidates, is_same(other, &candidate));

        if (known) {
                if (candidate.process &&
                    (!known->process || candidate.process->peak_bytes > known->process->peak_bytes))
                        known->process = candidate.process;
                if (!known->target.unit && candidate.target.unit) {
                        known->target.unit = candidate.target.unit;
                        known->note = NULL;
                }
                known->is_elsewhere = known->is_elsewhere || candidate.is_elsewhere;
                return;
        }
        candidate.name = instance_name(finder, candidate.name);
        if (finder->candidates.n < CANDIDATES_MAX && !name_check_instance(candidate.name) &&
            !(candidate.target.unit && name_check_unit(candidate.target.unit)))
                *vec_push(finder->arena, &finder->candidates) = candidate;
}

void finder_looked(Finder *finder, const char *title, size_t n) {
        *vec_push(finder->arena, &finder->places) = (FinderPlace){title, n};
}

void finder_pass(Finder *finder, const char *name, const char *why) {
        if (finder->passed_over.n < PASSED_OVER_MAX &&
            !VEC_ANY(other, &finder->passed_over, text_equals(other->name, name)))
                *vec_push(finder->arena, &finder->passed_over) = (PassedOver){name, why};
}

/* ---- what was found, in words ---- */

const char *finder_stem(const Finder *finder, const char *unit) {
        return arena_strndup(finder->arena, unit, strlen(unit) - strlen(".service"));
}

const char *finder_user(const Finder *finder, const RunningProcess *process) {
        return process->uid == UINT64_MAX ? NULL
                                          : arena_printf(finder->arena, "%" PRIu64, process->uid);
}

bool finder_is_path(const char *path) {
        if (!path || *path != '/' || !text_is_utf8(path, strlen(path)))
                return false;
        for (const char *at = path; *at; at++)
                if ((unsigned char) *at < ' ' || *at == 0x7f)
                        return false;
        return true;
}

/* ---- engines ---- */

const EngineFinder *engine_finder(const Engine *engine) {
        static const EngineFinder none = {};

#define ROW(name)                     \
        if (engine == &engine_##name) \
                return &finder_##name;
        ENGINE_FINDERS(ROW)
#undef ROW
        return &none;
}

/* By engine; within one as they were found. */
static void sort_candidates(Finder *finder) {
        typeof(finder->candidates) sorted = {};

        for (size_t i = 0; i < n_engines; i++)
                VEC_FOREACH(candidate, &finder->candidates)
                        if (candidate->engine == engines[i])
                                *vec_push(finder->arena, &sorted) = *candidate;
        finder->candidates = sorted;
}

void engines_find(Finder *finder) {
        find_in_units(finder);
        for (size_t i = 0; i < n_engines; i++)
                if (engine_finder(engines[i])->find_installed)
                        engine_finder(engines[i])->find_installed(finder, engines[i]);
        find_in_quadlets(finder);
        find_in_processes(finder);
        for (size_t i = 0; i < n_engines; i++)
                if (engine_finder(engines[i])->find_rest)
                        engine_finder(engines[i])->find_rest(finder, engines[i]);
        sort_candidates(finder);
        VEC_KEEP(passed, &finder->passed_over,
                 !VEC_ANY(candidate, &finder->candidates,
                          text_equals(candidate->target.unit, passed->name)));
}
