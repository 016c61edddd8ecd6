/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Events that the keeper reports to its owner, for the journal and the history. */

#include "base/diag.h"
#include "plan/plan.h"
#include "status/history.h"

typedef struct KeeperEvent {
        int level; /* a priority of syslog(3) */
        HistoryEvent what;
        const char *id;       /* of a problem or reason; NULL: of none */
        const char *instance; /* NULL: of none */
        const char *text;
        HistoryFigures figures;
} KeeperEvent;

typedef void (*KeeperListener)(void *userdata, const KeeperEvent *event);

typedef struct EventSink {
        KeeperListener listener;
        void *userdata;
} EventSink;

void event_report(const EventSink *events, const KeeperEvent *event);

/* ID is that of a problem or reason; NULL: none. */
void event_report_text(const EventSink *events, int level, const char *id, const char *text);
void event_report_diag(const EventSink *events, const Diag *diag);

/* A setting other than a pool was written. */
void event_report_setting(const EventSink *events, const char *text);

/* A gate was answered. REFUSAL says why the instance may not start; NULL: it may. */
void event_report_start(const EventSink *events, const PlanInstance *planned,
                        const Reason *refusal);

/* INSTANCE needs COUNT; PAGES_BEFORE were planned. */
void event_report_size(const EventSink *events, const char *instance, const PageCount *count,
                       uint64_t pages_before);
