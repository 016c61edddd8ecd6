/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Exit codes, stable for scripts; hugeplanctl(1). */
enum {
        EXIT_DONE = 0,
        EXIT_FAILED = 1, /* or refused */
        EXIT_USAGE = 2,
        EXIT_NOT_READY = 3, /* not all are ready, or the plan differs from the host */
        EXIT_NO_INSTANCE = 4,
        EXIT_TIMED_OUT = 75, /* EX_TEMPFAIL of sysexits.h */
};
