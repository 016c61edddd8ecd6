/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The verbs of hugeplanctl: one row and one function each. */

#include "check/boot/kernel_args.h"
#include "check/rules.h"
#include "check/suggest.h"
#include "ctl/command.h"
#include "ctl/daemon_call.h"

typedef struct Verb {
        const char *name;
        const char *synopsis;         /* what follows the name */
        size_t n_min, n_max;          /* arguments */
        int (*run)(Command *command); /* gives the exit code */
        const char *help;             /* NULL: not for people */
        bool takes_draft;             /* works from the configuration files alone */
        bool has_columns;             /* takes --output= */
        bool is_gate; /* lets start whom hugepland lets, whatever else cannot be read */
} Verb;

extern const Verb verbs[];
extern const size_t n_verbs;

int verb_check(Command *command);
int verb_cmdline(Command *command);
int verb_explain(Command *command);
int verb_import(Command *command);
int verb_learn(Command *command);
int verb_metrics(Command *command);
int verb_plan(Command *command);
int verb_release(Command *command);
int verb_reload(Command *command);
int verb_report(Command *command);
int verb_serve_metrics(Command *command);
int verb_size(Command *command);
int verb_snapshot(Command *command);
int verb_status(Command *command);
int verb_verify(Command *command);
int verb_wait(Command *command);

/* What the kernel command line should say, and what is wrong with it. */
KernelAdvice *cmdline_advise(Command *command, const Look *look);

/* Adds to each instance whose unit has, or could have, pages of its own what it makes of them, at a glance; and what is
 * wrong with that to the problems. */
void add_outcomes(Command *command, Status *status);

/* What `check` finds on the host, with STATUS (NULL: of a draft) and what was seen of its databases (NULL: they are looked
 * at), and the look that it was made from. */
Findings findings_now(Command *command, const Status *status, const ProofList *proofs,
                      const Look **ret_look);

/* The databases of this host, as `import` has them. */
Suggestions suggestions_find(Command *command);

/* What there is on a host of which nothing is described yet; NULL where that has begun. */
const FirstLook *first_look_now(Command *command, const Status *status);
