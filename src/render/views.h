/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The views of hugeplanctl's verbs: as text for people, and as JSON (new references). */

#include "check/report.h"
#include "check/rules.h"
#include "check/suggest.h"
#include "demand/learned.h"
#include "plan/host_plan.h"
#include "render/render.h"
#include "status/status.h"
#include "status/waste.h"

#include <jansson.h>

/* ---- status: verdicts, pools and their users, as they are now ---- */

/* Returns the whole host. */
char *render_status(Arena *arena, const Status *status, const RenderOptions *options);

/* Returns all that is known about one instance. */
char *render_status_instance(Arena *arena, const Status *status, const StatusInstance *instance,
                             const RenderOptions *options);

/* ---- plan: what would be written ---- */

/* HOST has the writes besides the pools. */
char *render_plan(Arena *arena, const Plan *plan, const HostPlan *host, const Config *config,
                  const RenderOptions *options);

/* ---- explain: how the size of an instance, or of settings, comes about ---- */

/* A file that the generator writes for an instance. */
typedef struct GeneratedFile {
        const char *name; /* "mariadb.service.d/10-hugeplan.conf", "mnt-huge.mount" */
        const char *text;
} GeneratedFile;

typedef VEC(GeneratedFile) GeneratedFiles;

/* Returns the derivation of an instance's size, the places of its pages, and its generated FILES. LESSON is what its
 * database says now, if it has Memory=auto, and NOW the pages that this has mapped; else NULL. */
char *render_explain(Arena *arena, const PlanInstance *planned, const Topology *topology,
                     const Lesson *lesson, const Seen *now, const GeneratedFiles *files,
                     const RenderOptions *options);

/* Returns a derivation alone, as `size` prints it. */
char *render_sizing(Arena *arena, const Sizing *sizing, const RenderOptions *options);

/* Returns a database's setting; null for NULL. */
json_t *setting_to_json(Arena *arena, const Setting *setting);

/* ---- verify: whether databases run with their huge pages, and what is wasted ---- */

/* Returns all instances, and the waste: how much, of which instance, and since when. HAS_DETAILS: also the page tables
 * of each server, and what could not be read. */
char *render_proofs(Arena *arena, const Proofs *proofs, bool has_details,
                    const RenderOptions *options);

json_t *proofs_to_json(const Proofs *proofs);
json_t *proof_to_json(const Proof *proof);

/* The fields of an instance that make a row. */
#define PROOF_COLUMNS                                                           \
        "name|outcome|asPlanned|unit|>pageSizeBytes|>pagesWanted|>mappedBytes|" \
        ">touchedBytes|touchedLowerBound|>smallBytes|>pageTableBytes|"          \
        ">smallPageTableBytes|>sessionsMax|>worstPageTableBytes"

/* ---- check ---- */

/* Returns the verdict, then the findings, worst first: each with its place, evidence and remedy. */
char *render_findings(Arena *arena, const Findings *findings, const RenderOptions *options);

/* Returns "problems", each with its "documentation" and whether it "hurts", and "silenced". */
json_t *findings_to_json(const Findings *findings);

/* ---- report: as JSON, and as the page that shows it ---- */

json_t *report_to_json(Arena *arena, const Report *report);

/* Returns TEMPLATE, an HTML page, with JSON in its element of id "report"; in ARENA. Returns NULL if there is no such
 * element, or JSON cannot be written. */
char *report_to_page(Arena *arena, const char *template, const json_t *json);

/* ---- first look: a host without instances, its databases, what their page tables cost, and what sets huge pages ---- */

/* Returns tables and sentences that end with the next command. */
char *render_first_look(Arena *arena, const HostView *view, const RenderOptions *options);

json_t *first_look_to_json(Arena *arena, const HostView *view);

/* ---- status --nagios ---- */

/* The output of a plugin for Nagios, Icinga, checkmk and the like: one line, figures behind "|", and an exit code.
 * Source: monitoring-plugins.org/doc/guidelines.html. */

/* The exit codes of plugins. */
typedef enum NagiosState {
        NAGIOS_OK,
        NAGIOS_WARNING, /* an instance is short of pages and starts, is pending, or fell back; a warning */
        NAGIOS_CRITICAL, /* an instance does not start, or has lost pages; an error */
        NAGIOS_UNKNOWN,  /* the host could not be judged */
} NagiosState;

/* Judges INSTANCE, with its problems and those of the host, or all instances (NULL). WHY is what makes the state
 * unknown, or NULL. *RET ends with a newline. */
NagiosState render_nagios(Arena *arena, const Status *status, const StatusInstance *instance,
                          const char *why, const char **ret);
