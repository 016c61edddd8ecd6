/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A report as JSON, and as the page that shows it. */

#include "check/report.h"

#include <jansson.h>

/* A new reference. */
json_t *report_to_json(Arena *arena, const Report *report);

/* TEMPLATE, a page of HTML, with JSON in its element with the id "report"; in ARENA. NULL: it has no such element, or
 * JSON cannot be written. */
char *report_to_page(Arena *arena, const char *template, const json_t *json);
