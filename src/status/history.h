/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* History: what happened, each event as one entry of the journal with fields that programs can search. The daemon
 * writes them, `report` and `verify` read those of this boot back; both by the same table of fields.
 * systemd.journal-fields(7). */

#include "model/topology.h"
#include "read/source.h"

typedef enum HistoryEvent {
        HISTORY_NONE,    /* a line for people, no event */
        HISTORY_PROBLEM, /* of the status or the configuration; its kind says which */
        HISTORY_RESERVED,
        HISTORY_REPAIRED, /* what others had taken is there again */
        HISTORY_SHORT,
        HISTORY_GIVEN_BACK,
        HISTORY_DRIFT,
        HISTORY_SET, /* transparent huge pages, a limit */
        HISTORY_LEARNED,
        HISTORY_GATE_PASSED,
        HISTORY_GATE_REFUSED,
} HistoryEvent;

/* "reserved", "gate-passed"; NULL of HISTORY_NONE. What became of an instance has its verdict's name instead. */
const char *history_event_name(HistoryEvent event);

/* The kind by which its message identifier is found (status/messages.h); NULL: it has its problem's. */
const char *history_event_kind(HistoryEvent event);

typedef struct HistoryNumber {
        bool is_known;
        uint64_t value;
} HistoryNumber;

#define HISTORY_NUMBER(number) ((HistoryNumber){true, (number)})

typedef struct HistoryFigures {
        HistoryNumber node;
        HistoryNumber page_size_bytes;
        HistoryNumber pages_before;
        HistoryNumber pages; /* then */
        HistoryNumber pages_wanted;
} HistoryFigures;

typedef struct HistoryEntry {
        HistoryNumber level; /* of syslog(3) */
        const char *event;
        const char *kind; /* of the reason or problem; NULL: none */
        const char *text;
        const char *unit; /* of the database */
        const char *file; /* of the configuration, */
        HistoryNumber line;
        SourceNames instances; /* whom it concerns; none: the host */
        HistoryFigures figures;
        /* When it was read: */
        uint64_t at_usec; /* since 1970 */
        const char *at;   /* the same for people */
} HistoryEntry;

/* Of this boot, the oldest first. */
typedef struct HistoryEntries {
        HistoryEntry *items;
        size_t n, capacity;
        const char *missing; /* why nothing is known of what happened; NULL: it is */
} HistoryEntries;

/* A field of the journal: a text of HistoryEntry, or a HistoryNumber, AT an offset. */
typedef struct HistoryField {
        const char *name;
        size_t at;
        bool is_number;
} HistoryField;

extern const HistoryField history_fields[];
extern const size_t n_history_fields;
#define HISTORY_INSTANCE_FIELD "HUGEPLAN_INSTANCE" /* as often as there are instances */

/* The entry as fields, "NAME=VALUE" each; in ARENA. What is not known has none. */
SourceNames history_to_fields(Arena *arena, const HistoryEntry *entry);

/* Takes one field, of LENGTH bytes, into ENTRY; what is none of ours, or no number, is passed over. */
void history_take_field(Arena *arena, HistoryEntry *entry, const char *field, size_t length);

/* Since when INSTANCE has had its pages, and was not let start, by the HISTORY of a boot: since 1970. 0: it was let
 * start, and when it stopped nobody tells; or it is not known. */
uint64_t history_unused_since(const HistoryEntries *history, const char *instance);

/* Who set pages of that size, where no file says it: "2026-12-31 23:59:59: 40 to 60 pages on node 0, not by hugeplan",
 * the last change of each node that hugepland saw; or that it is not known, and why. */
const char *history_say_who(Arena *arena, const HistoryEntries *history, uint64_t page_size_bytes);

/* Leaves out what repeats the last verdict on an instance, and its reason: a daemon that was
 * started anew says again how it finds them. */
void history_fold(HistoryEntries *history);
