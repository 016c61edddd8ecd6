/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What each verb of hugeplanctl shows: as text for people, and as JSON (new references). */

#include "check/report.h"
#include "check/rules.h"
#include "check/suggest.h"
#include "demand/learned.h"
#include "plan/host_plan.h"
#include "render/render.h"
#include "status/status.h"
#include "status/waste.h"

#include <jansson.h>

/* ---- status: verdicts, pools and who holds them, as they are ---- */

/* The whole host. */
char *render_status(Arena *arena, const Status *status, const RenderOptions *options);

/* One instance with all that is known about it. */
char *render_status_instance(Arena *arena, const Status *status, const StatusInstance *instance,
                             const RenderOptions *options);

/* ---- plan: what would be written ---- */

/* HOST is what is to be written besides the pools. */
char *render_plan(Arena *arena, const Plan *plan, const HostPlan *host, const Config *config,
                  const RenderOptions *options);

/* ---- explain: how the size of an instance, or of settings, comes about ---- */

/* What the generator writes for an instance. */
typedef struct GeneratedFile {
        const char *name; /* "mariadb.service.d/10-hugeplan.conf", "mnt-huge.mount" */
        const char *text;
} GeneratedFile;

typedef VEC(GeneratedFile) GeneratedFiles;

/* How the size of an instance came about, where its pages go, and what its units are told. LESSON is
 * what its database says now, of an instance with Memory=auto, and NOW what that has mapped; else NULL. */
char *render_explain(Arena *arena, const PlanInstance *planned, const Topology *topology,
                     const Lesson *lesson, const Seen *now, const GeneratedFiles *files,
                     const RenderOptions *options);

/* A derivation alone, as `size` prints it. */
char *render_sizing(Arena *arena, const Sizing *sizing, const RenderOptions *options);

/* The same for an engine that reserves nothing: its preference for transparent huge pages. VERSION may be
 * NULL. */
char *render_thp_preference(Arena *arena, const Engine *engine, const char *version,
                            ThpPolicy preference);

/* ---- verify: whether databases run with their huge pages, and what is wasted ---- */

/* All instances; what is wasted, whose, and since when. */
char *render_proofs(Arena *arena, const Proofs *proofs, const RenderOptions *options);

/* One instance with all that is known about it. */
char *render_proof(Arena *arena, const Proof *proof, const WasteList *waste,
                   const RenderOptions *options);

/* The instances alone, and the fields of each that make a row. */
json_t *proofs_to_rows(const Proofs *proofs);
#define PROOF_COLUMNS                                                           \
        "name|outcome|asPlanned|unit|>pageSizeBytes|>pagesWanted|>mappedBytes|" \
        ">touchedBytes|touchedLowerBound|>smallBytes|>pageTableBytes|"          \
        ">smallPageTableBytes|>sessionsMax|>worstPageTableBytes"

json_t *proofs_to_json(const Proofs *proofs);
json_t *proof_to_json(const Proof *proof);

/* ---- check ---- */

/* The verdict first, then what is most severe; of each finding the place, the evidence, and what to do. */
char *render_findings(Arena *arena, const Findings *findings, const RenderOptions *options);

/* A new reference: "problems", each with its "documentation" and whether it "hurts", and "silenced". */
json_t *findings_to_json(const Findings *findings);

/* ---- report: as JSON, and as the page that shows it ---- */

/* A new reference. */
json_t *report_to_json(Arena *arena, const Report *report);

/* TEMPLATE, a page of HTML, with JSON in its element with the id "report"; in ARENA. NULL: it has no such element, or
 * JSON cannot be written. */
char *report_to_page(Arena *arena, const char *template, const json_t *json);

/* ---- first look: a host of which nothing is described yet ---- */

/* As tables and sentences, with the next command at the end. */
char *render_first_look(Arena *arena, const FirstLook *look, const RenderOptions *options);

json_t *first_look_to_json(Arena *arena, const FirstLook *look);

/* ---- status --nagios ---- */

/* As a plugin of Nagios, Icinga, checkmk and the like says it: one line, figures behind "|", and an exit code.
 * Source: monitoring-plugins.org/doc/guidelines.html. */

/* The exit codes of plugins. */
typedef enum NagiosState {
        NAGIOS_OK,
        NAGIOS_WARNING, /* an instance is short and starts all the same, is worked on, or fell back; a warning */
        NAGIOS_CRITICAL, /* an instance does not start, or has lost pages; an error */
        NAGIOS_UNKNOWN,  /* it could not be judged */
} NagiosState;

/* Of INSTANCE, with what is wrong with it and with hugeplan itself, or of all (NULL). WHY: what makes it unknown; else
 * NULL. *RET ends with a newline. */
NagiosState render_nagios(Arena *arena, const Status *status, const StatusInstance *instance,
                          const char *why, const char **ret);
