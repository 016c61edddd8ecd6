/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/pending.h"

#include "base/text.h"
#include "model/problem.h"

/* ---- mistakes ---- */

static bool is_known(const Status *running, const Diag *mistake) {
        VEC_FOREACH(problem, &running->problems.list)
                if (text_equals(problem->id, mistake->id) &&
                    text_equals(problem->file, mistake->file) && problem->line == mistake->line &&
                    text_equals(problem->text, mistake->text))
                        return true;
        return false;
}

static const char *mistakes_text(Arena *arena, const Config *files, const Diag *first, size_t n) {
        Text refused = text_in(arena);

        /* Those of whose file the configuration in force was read before the mistake was made. */
        for (size_t i = 0; i < files->n_instances; i++)
                if (files->instances[i].refusal)
                        text_add_item(&refused, files->instances[i].name);
        const char *names = refused.string;

        return arena_printf(
                arena, "%s%s. hugepland has not read this yet: a reload is refused%s%s",
                first->text,
                n > 1 ? arena_printf(arena, "; and %zu more mistake%s", n - 1, n == 2 ? "" : "s")
                      : "",
                names ? ", and from the next boot on nothing starts that waits for " : "",
                names ? names : "");
}

static void judge_mistakes(Arena *arena, const PendingInput *input, Diags *problems) {
        const Diag *first = NULL;
        size_t n = 0;

        VEC_FOREACH(problem, &input->files->problems.list) {
                if (problem->severity != SEVERITY_ERROR || is_known(input->running, problem))
                        continue;
                first = first ? first : problem;
                n++;
        }
        if (!first)
                return;
        diags_add(problems,
                  &(Diag){.severity = SEVERITY_ERROR,
                          .id = problem_id(PROBLEM_CONFIG_PENDING),
                          .file = first->file,
                          .line = first->line,
                          .key = first->key,
                          .text = mistakes_text(arena, input->files, first, n),
                          .remedy = arena_printf(arena, "%s%sthen run 'hugeplanctl reload'",
                                                 first->remedy ? first->remedy : "",
                                                 first->remedy ? "; " : "")});
}

/* ---- changes ---- */

/* "; added: a, b" */
static void add_group(Text *text, const char *title, const Text *names) {
        if (names->length > 0)
                text_printf(text, "%s%s: %s", text->length > 0 ? "; " : "", title,
                            text_string(names));
}

static void judge_changes(Arena *arena, const PendingInput *input, Diags *problems) {
        const Config *files = input->files;
        const Status *running = input->running;
        Text added = text_in(arena), changed = text_in(arena), removed = text_in(arena);
        Text text = text_in(arena);

        for (size_t i = 0; i < files->n_instances; i++) {
                const InstanceConfig *now = &files->instances[i];
                const StatusInstance *before = status_find(running, now->name);

                if (now->refusal)
                        continue;
                if (!before)
                        text_add_item(&added, now->name);
                /* A mistake that was fixed need not have been an assignment. */
                else if (before->fingerprint &&
                         (before->verdict == VERDICT_INVALID ||
                          !text_equals(before->fingerprint, now->fingerprint)))
                        text_add_item(&changed, now->name);
        }
        for (size_t i = 0; i < running->n_instances; i++)
                if (!config_find(files, running->instances[i].name))
                        text_add_item(&removed, running->instances[i].name);
        add_group(&text, "added", &added);
        add_group(&text, "changed", &changed);
        add_group(&text, "removed", &removed);
        if (running->fingerprint && !text_equals(running->fingerprint, files->host.fingerprint))
                text_printf(&text, "%schanged: [Host]", text.length > 0 ? "; " : "");
        if (text.length == 0)
                return;
        diags_add(
                problems,
                &(Diag){.severity = SEVERITY_WARNING,
                        .id = problem_id(PROBLEM_RELOAD_PENDING),
                        .text = arena_printf(arena,
                                             "hugepland has not read these files as they are now; "
                                             "%s",
                                             text_string(&text)),
                        .remedy = input->is_unread ? "run 'systemctl daemon-reload', then "
                                                     "'hugeplanctl reload'"
                                                   : "run 'hugeplanctl reload'"});
}

static bool has_problem(const Status *running, ProblemKind kind) {
        VEC_FOREACH(problem, &running->problems.list)
                if (text_equals(problem->id, problem_id(kind)))
                        return true;
        return false;
}

void pending_judge(Arena *arena, const PendingInput *input, Diags *problems) {
        judge_mistakes(arena, input, problems);
        /* After a reload that was refused it is in the status why; what else has changed waits behind that. */
        if (has_problem(input->running, PROBLEM_RELOAD_REFUSED) ||
            (has_problem(input->running, PROBLEM_CONFIG_REJECTED) &&
             diags_count(&input->files->problems, SEVERITY_ERROR) > 0))
                return;
        judge_changes(arena, input, problems);
}
