/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A kernel command line and the files of boot loaders, as `hugeplanctl cmdline` finds them; packed as in
 * support/sources.h.
 *
 * Conditions: the function returns, its texts can be printed, and there are no steps if no change is needed. */

#include "fuzz/fuzz.h"
#include "inspect/boot_loader.h"
#include "model/model_root.h"
#include "support/sources.h"
#include "support/testing.h"

static const char host_text[] = "sizes 1G 2M\n"
                                "node 0 total=64G free=60G 1G=0 2M=0\n"
                                "node 1 total=64G free=60G 1G=0 2M=0\n";

static void check_problems(Arena *arena, const Diags *problems) {
        VEC_FOREACH(problem, &problems->list) {
                require(problem->id && problem->text);
                require_printable(diag_format(arena, problem));
        }
}

static void check_advice(Arena *arena, const BootLoader *loader, const KernelAdvice *advice) {
        const SourceNames steps = boot_loader_instruct(arena, loader, advice);

        require(*kernel_verdict_names[advice->verdict]);
        require_printable(advice->wanted);
        require_printable(advice->present);
        check_problems(arena, &advice->problems);
        VEC_FOREACH(step, &steps)
                require_printable(*step);
        require(steps.n == 0 || advice->verdict == KERNEL_LINE_CHANGE);
}

FUZZ(arena, data, size) {
        CLEANUP(root_freep) Root *root = model_root_new(NULL);
        const TestFiles files = test_files_unpack(arena, data, size);
        const Config *config = config_line(arena, "db Pages=1G:3 Placement=0-1");
        Topology *topology = host_make(arena, host_text);
        char *present = NULL;

        VEC_FOREACH(file, &files)
                model_root_add(root, file->path, file->text, file->size);
        root_read_file(root, arena, "/proc/cmdline", SOURCE_BYTES_MAX, &present, NULL);
        topology->kernel_release = "6.1.0-38-amd64";
        topology->kernel_command_line = present ? present : "quiet";
        const BootLoader loader = boot_loader_find(root, arena);
        const Plan *plan = plan_simple(arena, config, kernel_args_boot_topology(arena, topology));

        require(*boot_loader_names[loader.kind].name && *boot_loader_names[loader.kind].title);
        check_advice(arena, &loader, kernel_args_advise(arena, config, topology, plan));
}
