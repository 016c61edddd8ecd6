/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `hugeplanctl cmdline`: what the kernel command line should have for the plan's gigantic pages, its present problems,
 * and how to change it with this host's boot loader. It changes nothing. */
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "ctl/verbs.h"
#include "inspect/boot_loader.h"
#include "model/exit_code.h"
#include "render/status_json.h"

#include <stdio.h>

static const struct {
        Mark mark;
        const char *title, *headline;
} verdict_looks[] = {
        [KERNEL_LINE_NOT_NEEDED] = {MARK_GOOD, "fine",
                                    "the plan needs nothing on the kernel command line"},
        [KERNEL_LINE_RUN_TIME] = {MARK_DOUBT, "run time",
                                  "hugeplan reserves the plan's gigantic pages at run time, if they "
                                  "can be had"},
        [KERNEL_LINE_SERVES] = {MARK_GOOD, "fine",
                                "the kernel command line reserves the gigantic pages of the plan; "
                                "they count as served"},
        [KERNEL_LINE_CHANGE] = {MARK_BAD, "change",
                                "the kernel command line does not serve the plan"},
};

static char *render_advice(Arena *arena, const KernelAdvice *advice, const BootLoader *loader,
                           const SourceNames *instructions, const RenderOptions *options) {
        const char *headline = verdict_looks[advice->verdict].headline;
        Table *table = table_new(arena, ">NODE|>PAGE|>PLAN|>THIS BOOT|>EXISTING");
        Text text = text_in(arena);
        unsigned n = 0;

        if (advice->verdict == KERNEL_LINE_CHANGE && !*advice->wanted)
                headline = "the kernel command line has mistakes";
        render_add_marked(&text, options, verdict_looks[advice->verdict].mark,
                          verdict_looks[advice->verdict].title);
        text_printf(&text, "  %s\n", headline);
        VEC_FOREACH(pool, &advice->pools) {
                uint64_t planned = pool->planned_pages, present = pool->present_pages;

                if (planned + present == 0)
                        continue;
                table_printf(table, "%u", pool->node);
                table_add(table, format_page_size(arena, pool->page_size_bytes));
                table_add(table, planned > 0 ? format_count(arena, planned) : NULL);
                table_add_colored(table, present > 0 ? format_count(arena, present) : NULL,
                                  present < planned ? RENDER_RED : NULL);
                table_add(table,
                          pool->found_pages > 0 ? format_count(arena, pool->found_pages) : NULL);
        }
        render_table(&text, options, table, NULL);
        text_printf(&text, "\n%10s: %s\n", "Wanted", *advice->wanted ? advice->wanted : "-");
        text_printf(&text, "%10s: %s\n", "This boot", *advice->present ? advice->present : "-");
        if (advice->problems.list.n > 0)
                text_printf(&text, "\n%s",
                            render_problems(arena, &advice->problems, false, options));
        if (instructions->n > 0)
                text_printf(&text, "\nWhat to do (%s%s):\n",
                            loader->kind == BOOT_LOADER_UNKNOWN ? "boot loader " : "",
                            boot_loader_names[loader->kind].title);
        VEC_FOREACH(instruction, instructions)
                text_printf(&text, "%3u. %s\n", ++n, *instruction);
        return text.string;
}

/* ---- the verb ---- */

KernelAdvice *cmdline_advise(Command *command, const Look *look) {
        Arena *arena = command->arena;
        /* The plan for this host as if it had just booted without any huge page. */
        const Topology *boot = kernel_args_boot_topology(arena, look->topology);
        Ledger *ledger = ledger_new(arena, "");
        const PlanInput at_boot = {
                .host = &look->config->host,
                .demand = demand_compute(arena, look->config, boot, &look->figures),
                .topology = boot,
                .ledger = ledger,
        };

        ledger_observe(arena, ledger, boot, NULL);
        return kernel_args_advise(arena, look->config, look->topology, plan_make(arena, &at_boot));
}

int verb_cmdline(Command *command) {
        Arena *arena = command->arena;
        const Look *look = local_load(command, true, NULL);
        const BootLoader loader = boot_loader_find(command->root, arena);
        const KernelAdvice *advice = cmdline_advise(command, look);
        SourceNames instructions = boot_loader_instruct(arena, &loader, advice);

        if (command->json != JSON_OFF) {
                json_t *steps = VEC_TO_JSON(instruction, &instructions, json_string(*instruction));
                json_t *pools =
                        VEC_TO_JSON(pool, &advice->pools,
                                    json_pack("{si so so so so}", "node", (int) pool->node,
                                              "pageSizeBytes", count_to_json(pool->page_size_bytes),
                                              "wanted", count_to_json(pool->planned_pages),
                                              "present", count_to_json(pool->present_pages),
                                              "existing", count_to_json(pool->found_pages)));

                print_json(command,
                           json_pack("{ss ss ss so so ss so}", "verdict",
                                     kernel_verdict_names[advice->verdict], "wanted",
                                     advice->wanted, "present", advice->present, "pools", pools,
                                     "problems", problems_to_json(&advice->problems), "bootLoader",
                                     boot_loader_names[loader.kind].name, "instructions", steps));
        } else {
                fputs(render_advice(arena, advice, &loader, &instructions, &command->render),
                      stdout);
        }
        return advice->verdict == KERNEL_LINE_CHANGE ? EXIT_NOT_READY : EXIT_DONE;
}
