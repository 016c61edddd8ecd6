/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A report as a document: the verdict first, then what to do, then the figures. */

#include "check/report/report.h"
#include "render/report/document.h"

Document *render_report(Arena *arena, const Report *report);

/* Of render_report_parts.c: one section each, or none. */
void report_add_first_look(Arena *arena, Document *document, const Report *report);
void report_add_instances(Arena *arena, Document *document, const Report *report);
void report_add_tables(Arena *arena, Document *document, const Report *report);
void report_add_waste(Arena *arena, Document *document, const Report *report);
void report_add_history(Arena *arena, Document *document, const Report *report);
