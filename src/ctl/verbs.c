/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

const Verb verbs[] = {
        {"status", "[NAME|--all]", 0, 1, verb_status,
         "What is reserved, for whom, and what is wrong (--watch: on every change)"},
        {"plan", "", 0, 0, verb_plan, "What would be written; writes nothing", .takes_draft = true},
        {"check", "[FILE...]", 0, SIZE_MAX, verb_check,
         "Look for what will hurt on this host, or for mistakes in files", .takes_draft = true},
        {"cmdline", "", 0, 0, verb_cmdline,
         "What the kernel command line should say for gigantic pages, and what is wrong with it",
         .takes_draft = true},
        {"explain", "NAME", 1, 1, verb_explain, "How an instance's size comes about",
         .takes_draft = true},
        {"size", "ENGINE", 0, 1, verb_size,
         "What-if: pages for settings given by -c NAME=VALUE; without ENGINE: which there are"},
        {"fit", "NAME", 1, 1, verb_fit,
         "The largest shared_buffers, SGA, buffer pool or heap for the pages at hand",
         .takes_draft = true},
        {"suggest", "", 0, 0, verb_suggest,
         "Drop-ins for the databases found on this host (--write: create them)"},
        {"wait", "NAME", 0, 1, verb_wait,
         "Wait until an instance (--all: every one) has its pages; the gate of database units",
         .is_gate = true},
        {"learn", "NAME", 1, 1, verb_learn,
         "Find out what an instance needs whose size is its database's own (before each start)"},
        {"reload", "", 0, 0, verb_reload,
         "Read the configuration anew and apply the difference (--force: whoever falls)"},
        {"release", "NAME", 1, 1, verb_release,
         "Give back an instance's own free pages until the next reload or start"},
        /* For our own units. */
        {"ask", "NAME", 1, 1, verb_ask, NULL},
        {"listen", "NAME", 1, 1, verb_listen, NULL},
        {"pam-limits", "", 0, 0, verb_pam_limits, NULL},
        {"boot-guard", "begin|good", 1, 1, verb_boot_guard, NULL},
        {"cat-config", "", 0, 0, verb_cat_config, "Print the configuration files that count",
         .takes_draft = true},
};
const size_t n_verbs = ARRAY_LEN(verbs);
