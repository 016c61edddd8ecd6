/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the model with the running kernel by scripts of operations on huge pages (script.h). Linked statically, so
 * that it runs in any guest.
 *
 *   kernel-script describe                 prints this host for kernel_new()
 *   kernel-script compare SCRIPT...        performs scripts on a model of this host and on the kernel, and compares both
 *                                          after each line
 *   kernel-script compare-random SEED LINES [mounts]     a random script for this host
 *
 * Each run ends by undoing everything, which is compared as well. Random scripts have mounts only on request, because a
 * kernel that miscounts the reservations of mounts keeps these counts until the next boot.
 *
 * compare prints "ok" or "not ok" for each script, and before the latter the first difference. A script with a line
 * "# needs groups" (or cpusets, "2 nodes", "2 gigantic": so many pages of 1G) is skipped on a host without them. Exit
 * status: 0 no difference; 1 a difference; 2 a mistake in a script; 77 the host is unsuitable. Requires root and pools
 * without pages in use; restores the pools. */
#include "model/script_host.h"
#include "model/script_kernel.h"
#include "model/script_model.h"
#include "model/script_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAME = 0, DIFFERENT = 1, MISTAKE = 2, SKIP = 77 };

/* ---- scripts ---- */

static bool read_lines(Arena *arena, const char *path, ScriptNames *ret) {
        const char *rest = host_read(arena, path);
        char *line;

        while ((line = text_next_word(arena, &rest, "\n")))
                *vec_push(arena, ret) = line;
        if (ret->n == 0)
                fprintf(stderr, "kernel-script: %s: no lines can be read\n", path);
        return ret->n > 0;
}

/* WORDS: a seed, the number of lines, and optionally "mounts". */
static bool make_lines(Arena *arena, char **words, ScriptNames *ret) {
        ScriptRandomOptions options = {
                .host = host_describe(arena),
                .has_mounts = text_equals(words[2], "mounts"),
        };
        uint64_t n;

        options.has_groups = host_groups(arena).has_hugetlb;
        options.has_cpusets = host_groups(arena).has_cpuset;
        if (parse_u64(words[0], &options.seed) < 0 || parse_u64(words[1], &n) < 0) {
                fputs("kernel-script: a seed and a count of lines are numbers\n", stderr);
                return false;
        }
        ScriptRandom *random = script_random_new(arena, &options);

        for (uint64_t i = 0; i < n; i++)
                *vec_push(arena, ret) = script_random_line(random);
        script_random_free(random);
        return true;
}

/* What a script needs and this host does not have, or NULL. */
static const char *missing(Arena *arena, const ScriptNames *lines) {
        static const char key[] = "# needs ", nodes_key[] = " nodes", gigantic_key[] = " gigantic";
        const char *host = host_describe(arena), *needed = NULL;
        Kernel *model = kernel_new(host);

        VEC_FOREACH(line, lines) {
                const char *what = *line + strlen(key);
                bool is_here;

                if (!text_starts_with(*line, key))
                        continue;
                if (text_equals(what, "groups"))
                        is_here = host_groups(arena).has_hugetlb;
                else if (text_equals(what, "cpusets"))
                        is_here = host_groups(arena).has_cpuset;
                else if (text_ends_with(what, nodes_key))
                        is_here = strtoul(what, NULL, 10) <=
                                  (unsigned) __builtin_popcountll(kernel_memory_nodes(model));
                else
                        is_here = text_ends_with(what, gigantic_key) &&
                                  host_can_have(arena, GIB, (uint64_t) atoi(what));
                if (!is_here)
                        needed = what;
        }
        kernel_free(model);
        return needed;
}

/* ---- the model and the kernel ---- */

/* The kernel does not show which node's turn is next. Writing to one node's file determines that. */
static int settle(Script *script) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Text out = text_in(arena);
        int r = script_step(script, "set node0 1", &out);

        if (r == 0)
                r = script_step(script, "set node0 0", &out);
        return r;
}

static int compare_steps(Arena *arena, Script *expected, Script *actual, Kernel *model,
                         const ScriptNames *lines) {
        VEC_FOREACH(line, lines) {
                Text says = text_in(arena), is = text_in(arena);
                int r = script_step(expected, *line, &says);

                if (r == 0)
                        r = script_step(actual, *line, &is);
                if (r < 0) {
                        fputs(text_string(&says), stderr);
                        return MISTAKE;
                }
                if (!text_equals(text_string(&says), text_string(&is))) {
                        printf("at line %zu the kernel has\n%sand the model\n%s",
                               (size_t) (line - lines->items) + 1, text_string(&is),
                               text_string(&says));
                        return DIFFERENT;
                }
                const char *broken = kernel_check_invariants(model, arena);

                if (broken) {
                        printf("%s: the model contradicts itself:\n%s", *line, broken);
                        return DIFFERENT;
                }
        }
        return SAME;
}

/* *ret_is_broken: according to the model, this kernel has miscounted. */
static int compare(ScriptKernel *kernel, Arena *arena, const ScriptNames *lines,
                   bool *ret_is_broken) {
        Kernel *model = kernel_new(host_describe(arena));
        Script *expected = script_new(arena, &script_model, script_model_new(arena, model));
        Script *actual = script_new(arena, &script_kernel, kernel);
        ScriptNames rest = {};
        int status = MISTAKE;

        if (settle(expected) == 0 && settle(actual) == 0)
                status = compare_steps(arena, expected, actual, model, lines);
        script_end(expected, arena, &rest);
        if (status == SAME)
                status = compare_steps(arena, expected, actual, model, &rest);
        *ret_is_broken = kernel_has_miscounted(model);
        kernel_free(model);
        return status;
}

/* SCRIPT is its name. */
static int compare_lines(Arena *arena, const char *script, const ScriptNames *lines) {
        const char *reason, *needed;
        ScriptKernel *kernel = script_kernel_new(arena, &reason);
        bool is_broken = false;

        if (!kernel) {
                fprintf(stderr, "kernel-script: %s\n", reason);
                return SKIP;
        }
        needed = missing(arena, lines);
        int status = needed ? SAME : compare(kernel, arena, lines, &is_broken);
        bool is_undone = script_kernel_free(kernel);

        if (!is_undone && is_broken && status == SAME)
                puts("# this kernel keeps its wrong counts, as the model does");
        else if (!is_undone)
                status = DIFFERENT;
        if (status == DIFFERENT) {
                puts("the script was");
                VEC_FOREACH(line, lines)
                        printf("  %s\n", *line);
        }
        printf("%s - %s%s%s\n", status == SAME ? "ok" : "not ok", script,
               needed ? " # SKIP needs " : "", needed ? needed : "");
        fflush(stdout);
        return status;
}

/* ---- verbs ---- */

static int do_describe(char **words UNUSED) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        fputs(host_describe(arena), stdout);
        return SAME;
}

static int do_compare(char **words) {
        int worst = SAME;

        for (; *words; words++) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                const char *slash = strrchr(*words, '/');
                ScriptNames lines = {};
                int status = read_lines(arena, *words, &lines)
                                     ? compare_lines(arena, slash ? slash + 1 : *words, &lines)
                                     : MISTAKE;

                if (status == SKIP)
                        return SKIP;
                worst = MAX(worst, status);
        }
        return worst;
}

static int do_compare_random(char **words) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *name = arena_printf(arena, "%s random lines, seed %s%s", words[1], words[0],
                                        words[2] ? ", mounts" : "");
        ScriptNames lines = {};

        return make_lines(arena, words, &lines) ? compare_lines(arena, name, &lines) : MISTAKE;
}

int main(int argc, char **argv) {
        static const struct {
                const char *verb;
                int n_words; /* at least */
                int (*run)(char **words);
        } verbs[] = {
                {"describe", 0, do_describe},
                {"compare", 1, do_compare},
                {"compare-random", 2, do_compare_random},
        };

        for (size_t i = 0; argc > 1 && i < ARRAY_LEN(verbs); i++)
                if (text_equals(argv[1], verbs[i].verb) && argc - 2 >= verbs[i].n_words)
                        return verbs[i].run(argv + 2);
        fputs("kernel-script: the head of tests/model/kernel_script.c lists the verbs\n", stderr);
        return MISTAKE;
}
