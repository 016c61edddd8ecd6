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

/* Those of whose file the configuration in force was read before the mistake was made. */
static const char *names_refused(Arena *arena, const Config *files) {
        Text names = text_in(arena);

        for (size_t i = 0; i < files->n_instances; i++)
                if (files->instances[i].refusal)
                        text_add_item(&names, files->instances[i].name);
        return names.string;
}

static const char *mistakes_text(Arena *arena, const Config *files, const Diag *first, size_t n) {
        const char *names = names_refused(arena, files);

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

static void add_changed(const PendingInput *input, Text *names) {
        for (size_t i = 0; i < input->files->n_instances; i++) {
                const InstanceConfig *now = &input->files->instances[i];
                const StatusInstance *before = status_find(input->running, now->name);

                if (now->refusal || !before || !before->fingerprint)
                        continue;
                /* A mistake that was mended need not have been an assignment. */
                if (before->verdict == VERDICT_INVALID ||
                    !text_equals(before->fingerprint, now->fingerprint))
                        text_add_item(names, now->name);
        }
}

static void add_new(const PendingInput *input, Text *names) {
        for (size_t i = 0; i < input->files->n_instances; i++) {
                const InstanceConfig *now = &input->files->instances[i];

                if (!now->refusal && !status_find(input->running, now->name))
                        text_add_item(names, now->name);
        }
}

static void add_gone(const PendingInput *input, Text *names) {
        for (size_t i = 0; i < input->running->n_instances; i++)
                if (!config_find(input->files, input->running->instances[i].name))
                        text_add_item(names, input->running->instances[i].name);
}

/* "; added: a, b" */
static void add_group(Text *text, const char *title, const PendingInput *input,
                      void (*add)(const PendingInput *input, Text *names)) {
        Text names = text_in(text->arena);

        add(input, &names);
        if (names.length > 0)
                text_printf(text, "%s%s: %s", text->length > 0 ? "; " : "", title,
                            text_string(&names));
}

static bool is_host_changed(const PendingInput *input) {
        return input->running->fingerprint &&
               !text_equals(input->running->fingerprint, input->files->host.fingerprint);
}

static void judge_changes(Arena *arena, const PendingInput *input, Diags *problems) {
        Text text = text_in(arena);

        add_group(&text, "added", input, add_new);
        add_group(&text, "changed", input, add_changed);
        add_group(&text, "removed", input, add_gone);
        if (is_host_changed(input))
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

/* After a reload that was refused it is in the status why; what else has changed waits behind that. */
static bool is_rejected(const PendingInput *input) {
        return has_problem(input->running, PROBLEM_RELOAD_REFUSED) ||
               (has_problem(input->running, PROBLEM_CONFIG_REJECTED) &&
                diags_count(&input->files->problems, SEVERITY_ERROR) > 0);
}

void pending_judge(Arena *arena, const PendingInput *input, Diags *problems) {
        judge_mistakes(arena, input, problems);
        if (!is_rejected(input))
                judge_changes(arena, input, problems);
}
