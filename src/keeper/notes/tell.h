/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the keeper tells its owner, for the journal and the history. */

#include "base/diag.h"
#include "plan/plan.h"
#include "status/history.h"

typedef struct KeeperEvent {
        int level; /* a priority of syslog(3) */
        HistoryEvent what;
        const char *id;       /* of a problem or reason; else NULL */
        const char *instance; /* NULL: of none */
        const char *text;
        HistoryFigures figures;
} KeeperEvent;

typedef void (*KeeperListener)(void *userdata, const KeeperEvent *event);

typedef struct Teller {
        KeeperListener listener;
        void *userdata;
} Teller;

void tell_event(const Teller *teller, const KeeperEvent *event);

/* ID: of a problem or reason; NULL: it is none. */
void tell_text(const Teller *teller, int level, const char *id, const char *text);
void tell_diag(const Teller *teller, const Diag *diag);

/* Something besides the pools was set. */
void tell_set(const Teller *teller, const char *text);

/* A gate was answered; REFUSAL: why the instance may not start, NULL: it may. */
void tell_start(const Teller *teller, const PlanInstance *planned, const Reason *refusal);

/* INSTANCE was found to need COUNT, and PAGES_BEFORE were planned. */
void tell_learned(const Teller *teller, const char *instance, const PageCount *count,
                  uint64_t pages_before);
