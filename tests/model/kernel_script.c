/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Performs scripts of operations on huge pages (script.h) on the model and on the running kernel. Linked statically, so
 * that it runs in any guest.
 *
 *   kernel-script describe                 prints this host for kernel_new()
 *   kernel-script model SCRIPT             performs a script on a model of this host
 *   kernel-script kernel SCRIPT            performs it on the kernel
 *   kernel-script compare SCRIPT...        compares both after each line
 *   kernel-script random SEED LINES [mounts]          prints a random script for this host
 *   kernel-script compare-random SEED LINES [mounts]
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

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAME = 0, DIFFERENT = 1, MISTAKE = 2, SKIP = 77, SCRIPT_BYTES_MAX = 1 << 20 };

/* ---- scripts ---- */

static bool read_lines(Arena *arena, const char *path, ScriptNames *ret) {
        char *text = arena_alloc(arena, SCRIPT_BYTES_MAX);
        FILE *file = fopen(path, "re");
        const char *rest = text;
        char *line;

        if (!file) {
                fprintf(stderr, "kernel-script: %s: %s\n", path, strerror(errno));
                return false;
        }
        (void) !fread(text, 1, SCRIPT_BYTES_MAX - 1, file);
        fclose(file);
        while ((line = text_next_word(arena, &rest, "\n")))
                *vec_push(arena, ret) = line;
        return true;
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

/* ---- the model or the kernel ---- */

/* The kernel does not show which node's turn is next. Writing to one node's file determines that. */
static int settle(Script *script) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Text out = text_in(arena);
        int r = script_step(script, "set node0 1", &out);

        if (r == 0)
                r = script_step(script, "set node0 0", &out);
        return r;
}

static int print_run(Arena *arena, Script *script, const ScriptNames *lines) {
        int r = settle(script);

        VEC_FOREACH(line, lines) {
                Text out = text_in(arena);

                if (r < 0)
                        break;
                r = script_step(script, *line, &out);
                fputs(text_string(&out), r < 0 ? stderr : stdout);
        }
        return r < 0 ? MISTAKE : SAME;
}

static int run_model(Arena *arena, const ScriptNames *lines) {
        Kernel *kernel = kernel_new(host_describe(arena));
        int status = print_run(
                arena, script_new(arena, &script_model, script_model_new(arena, kernel)), lines);

        kernel_free(kernel);
        return status;
}

/* ---- both ---- */

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

static ScriptKernel *open_kernel(Arena *arena) {
        const char *reason;
        ScriptKernel *kernel = script_kernel_new(arena, &reason);

        if (!kernel)
                fprintf(stderr, "kernel-script: %s\n", reason);
        return kernel;
}

static int compare_named(Arena *arena, const char *name, const ScriptNames *lines,
                         ScriptKernel *kernel) {
        const char *needed = missing(arena, lines);
        bool is_broken = false;
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
        printf("%s - %s%s%s\n", status == SAME ? "ok" : "not ok", name,
               needed ? " # SKIP needs " : "", needed ? needed : "");
        fflush(stdout);
        return status;
}

static int compare_file(const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *slash = strrchr(path, '/');
        ScriptNames lines = {};

        if (!read_lines(arena, path, &lines))
                return MISTAKE;
        ScriptKernel *kernel = open_kernel(arena);

        return kernel ? compare_named(arena, slash ? slash + 1 : path, &lines, kernel) : SKIP;
}

static int compare_random(char **words) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        ScriptNames lines = {};

        if (!make_lines(arena, words, &lines))
                return MISTAKE;
        ScriptKernel *kernel = open_kernel(arena);

        return kernel ? compare_named(arena,
                                      arena_printf(arena, "%s random lines, seed %s%s", words[1],
                                                   words[0], words[2] ? ", mounts" : ""),
                                      &lines, kernel)
                      : SKIP;
}

/* ---- verbs ---- */

static int do_describe(Arena *arena, char **words) {
        (void) words;
        fputs(host_describe(arena), stdout);
        return SAME;
}

static int do_model(Arena *arena, char **words) {
        ScriptNames lines = {};

        return read_lines(arena, words[0], &lines) ? run_model(arena, &lines) : MISTAKE;
}

static int do_kernel(Arena *arena, char **words) {
        ScriptNames lines = {};

        if (!read_lines(arena, words[0], &lines))
                return MISTAKE;
        ScriptKernel *kernel = open_kernel(arena);

        if (!kernel)
                return SKIP;
        int status = print_run(arena, script_new(arena, &script_kernel, kernel), &lines);

        return script_kernel_free(kernel) ? status : DIFFERENT;
}

static int do_compare(Arena *arena, char **words) {
        int worst = SAME;

        (void) arena;
        for (; *words; words++) {
                int status = compare_file(*words);

                if (status == SKIP)
                        return SKIP;
                worst = MAX(worst, status);
        }
        return worst;
}

static int do_random(Arena *arena, char **words) {
        ScriptNames lines = {};

        if (!make_lines(arena, words, &lines))
                return MISTAKE;
        VEC_FOREACH(line, &lines)
                puts(*line);
        return SAME;
}

static int do_compare_random(Arena *arena, char **words) {
        (void) arena;
        return compare_random(words);
}

int main(int argc, char **argv) {
        static const struct {
                const char *verb;
                int n_words; /* at least */
                int (*run)(Arena *arena, char **words);
        } verbs[] = {
                {"describe", 0, do_describe}, {"model", 1, do_model},
                {"kernel", 1, do_kernel},     {"compare", 1, do_compare},
                {"random", 2, do_random},     {"compare-random", 2, do_compare_random},
        };
        CLEANUP(arena_freep) Arena *arena = arena_new();

        for (size_t i = 0; argc > 1 && i < ARRAY_LEN(verbs); i++)
                if (text_equals(argv[1], verbs[i].verb) && argc - 2 >= verbs[i].n_words)
                        return verbs[i].run(arena, argv + 2);
        fputs("kernel-script: the head of tests/model/kernel_script.c lists the verbs\n", stderr);
        return MISTAKE;
}
