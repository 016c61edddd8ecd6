/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The verbs of hugeplanctl: one row and one function each. */

#include "check/import.h"
#include "check/kernel_args.h"
#include "check/rules.h"
#include "ctl/command.h"
#include "ctl/daemon_call.h"

typedef struct Verb {
        const char *name;
        const char *synopsis;         /* what follows the name */
        size_t n_min, n_max;          /* arguments */
        int (*run)(Command *command); /* gives the exit code */
        const char *help;             /* NULL: not for people */
        bool is_gate; /* its exit code is hugepland's decision, whatever else cannot be read */
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

/* Advice on the kernel command line, and what is wrong with it. */
KernelAdvice *cmdline_advise(Command *command, const Look *look);

/* Adds to each instance with pages how its unit uses them, and problems with that. */
void add_outcomes(Command *command, Status *status);

/* The findings of `check` with STATUS (NULL: for a draft) and PROOFS of the databases (NULL: they are made here); sets
 * VIEW to what was judged. */
Findings findings_now(Command *command, const Status *status, const ProofList *proofs,
                      HostView *view);

/* Adds to VIEW, which may be empty, what is found on a host without instances. Returns false if any is described. */
bool first_look_add(Command *command, const Status *status, HostView *view);
