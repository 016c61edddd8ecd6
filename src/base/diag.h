/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Diagnostics as values: what is wrong, where, and what to do about it.
 *
 * Library code collects them; only the programs print. */

#include "base/vec.h"

typedef enum Severity {
        SEVERITY_ERROR,   /* something asked for does not happen */
        SEVERITY_WARNING, /* it happens, but probably not as meant */
        SEVERITY_NOTICE,  /* worth knowing */
} Severity;

typedef struct Diag {
        Severity severity;
        const char *id;   /* stable name of the kind, as "unknown-key" */
        const char *file; /* NULL when no file is concerned */
        unsigned line;    /* 0 when no line is concerned */
        const char *key;  /* NULL when no key is concerned */
        const char *text;
        const char *remedy; /* NULL when there is nothing to be done */
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

/* Adds DIAG with the text that FORMAT gives. */
void diags_tell(Diags *diags, Diag diag, const char *format, ...) PRINTF_LIKE(3, 4);

/* Adds copies of all of MORE. */
void diags_add_all(Diags *diags, const Diags *more);

/* How many there are of this severity. */
size_t diags_count(const Diags *diags, Severity severity);

const char *severity_name(Severity severity);

/* 0, or -EINVAL for a name that is none. */
int severity_from_name(const char *name, Severity *ret);

/* "FILE:LINE: KEY: TEXT; REMEDY", without the parts that are missing. */
char *diag_format(Arena *arena, const Diag *diag);
