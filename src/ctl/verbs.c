/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

const Verb verbs[] = {
        {"status", "[NAME|--all]", 0, 1, verb_status, "Show reservations, verdicts and problems"},
        {"plan", "", 0, 0, verb_plan, "Show what a reload would write; write nothing"},
        {"verify", "[NAME]", 0, 1, verb_verify,
         "Show whether running databases use their huge pages"},
        {"metrics", "[FILE]", 0, 1, verb_metrics, "Print the figures as OpenMetrics"},
        {"report", "[FILE]", 0, 1, verb_report, "Write all of this as one HTML page"},
        {"check", "[FILE...]", 0, SIZE_MAX, verb_check,
         "Look for problems of the host, or mistakes in files"},
        {"cmdline", "", 0, 0, verb_cmdline, "Show what the kernel command line should say"},
        {"explain", "NAME", 1, 1, verb_explain, "Show how an instance's size is calculated"},
        {"size", "[ENGINE|NAME]", 0, 1, verb_size,
         "Calculate pages for settings, or settings for pages"},
        {"import", "", 0, 0, verb_import, "Propose drop-ins for what this host has now"},
        {"wait", "NAME", 0, 1, verb_wait, "Wait until an instance may start (the gate of units)",
         .is_gate = true},
        {"learn", "NAME", 1, 1, verb_learn, "Determine, store and reserve the size of an instance"},
        {"reload", "", 0, 0, verb_reload, "Read the configuration again and apply it"},
        {"release", "NAME", 1, 1, verb_release, "Give back an instance's free pages"},
        {"snapshot", "FILE", 1, 1, verb_snapshot, "Record this host in an archive for --root="},
        /* For our own units. */
        {"serve-metrics", "", 0, 0, verb_serve_metrics, NULL},
};
const size_t n_verbs = ARRAY_LEN(verbs);
