/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Diagnostics as values: what is wrong, where, and what to do about it.
 *
 * Library code collects diagnostics; only the programs print them. */

#include "base/vec.h"

typedef enum Severity {
        SEVERITY_ERROR,   /* something requested does not happen */
        SEVERITY_WARNING, /* something happens, but probably not as intended */
        SEVERITY_NOTICE,  /* worth knowing */
} Severity;

typedef struct Diag {
        Severity severity;
        const char *id;   /* stable name of the kind: "unknown-key" */
        const char *file; /* NULL: no file is concerned */
        unsigned line;    /* 0: no line is concerned */
        const char *key;  /* NULL: no key is concerned */
        const char *text;
        const char *remedy; /* NULL: nothing to do */
} Diag;

typedef struct Diags {
        Arena *arena;
        VEC(Diag) list;
} Diags;

static inline Diags diags_in(Arena *arena) {
        return (Diags){.arena = arena};
}

/* Adds a copy of DIAG; its strings are copied too. */
void diags_add(Diags *diags, const Diag *diag);

/* Adds a copy of DIAG, with the formatted text. */
void diags_report(Diags *diags, Diag diag, const char *format, ...) PRINTF_LIKE(3, 4);

/* Adds copies of all of MORE. */
void diags_add_all(Diags *diags, const Diags *more);

/* Returns the number of diagnostics of SEVERITY. */
size_t diags_count(const Diags *diags, Severity severity);

const char *severity_name(Severity severity);

/* Returns 0, or -EINVAL for an unknown name. */
int severity_from_name(const char *name, Severity *ret);

/* Returns "FILE:LINE: KEY: TEXT; REMEDY", without missing parts. */
char *diag_format(Arena *arena, const Diag *diag);
