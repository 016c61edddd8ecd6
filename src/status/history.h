/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* History: events, each stored as one journal entry with searchable fields. The daemon writes the entries; `report` and
 * `verify` read those of this boot. Both use the same table of fields. systemd.journal-fields(7). */

#include "status/status.h"

typedef enum HistoryEvent {
        HISTORY_NONE,    /* a message without an event */
        HISTORY_PROBLEM, /* of the status or the configuration; named by its kind */
        HISTORY_RESERVED,
        HISTORY_REPAIRED, /* pages that others had removed are reserved again */
        HISTORY_SHORT,
        HISTORY_GIVEN_BACK,
        HISTORY_DRIFT,
        HISTORY_SET, /* transparent huge pages or a limit were set */
        HISTORY_LEARNED,
        HISTORY_GATE_PASSED,
        HISTORY_GATE_REFUSED,
} HistoryEvent;

/* An instance's events have the name of its verdict. */
typedef struct HistoryEventRow {
        const char *name; /* "reserved", "gate-passed", ...; NULL for HISTORY_NONE */
        const char *kind; /* that has the event's message identifier (Message); NULL: the problem's */
} HistoryEventRow;

extern const HistoryEventRow history_events[]; /* by HistoryEvent */

typedef struct HistoryNumber {
        bool is_known;
        uint64_t value;
} HistoryNumber;

#define HISTORY_NUMBER(number) ((HistoryNumber){true, (number)})

typedef struct HistoryFigures {
        HistoryNumber node;
        HistoryNumber page_size_bytes;
        HistoryNumber pages_before;
        HistoryNumber pages; /* after the event */
        HistoryNumber pages_wanted;
} HistoryFigures;

typedef struct HistoryEntry {
        HistoryNumber level; /* as in syslog(3) */
        const char *event;
        const char *kind; /* of the reason or problem; NULL: none */
        const char *text;
        const char *unit; /* the database's unit */
        const char *file; /* of the configuration, with its line */
        HistoryNumber line;
        SourceNames instances; /* the instances concerned; none: the whole host */
        HistoryFigures figures;
        /* Set when the entry is read: */
        uint64_t at_usec; /* microseconds since 1970 */
        const char *at;   /* the same time as text */
} HistoryEntry;

/* Entries of this boot, oldest first. */
typedef struct HistoryEntries {
        HistoryEntry *items;
        size_t n, capacity;
        const char *missing; /* why the journal could not be read; NULL: it was read */
} HistoryEntries;

/* A field of the journal: a text or a HistoryNumber at offset AT of HistoryEntry. */
typedef struct HistoryField {
        const char *name;
        size_t at;
        bool is_number;
} HistoryField;

extern const HistoryField history_fields[];
extern const size_t n_history_fields;
#define HISTORY_INSTANCE_FIELD "HUGEPLAN_INSTANCE" /* one for each instance */

/* Returns the fields of ENTRY, "NAME=VALUE" each, in ARENA. Values that are not known are left out. */
SourceNames history_to_fields(Arena *arena, const HistoryEntry *entry);

/* Stores one field of LENGTH bytes in ENTRY. Unknown fields and invalid numbers are ignored. */
void history_take_field(Arena *arena, HistoryEntry *entry, const char *field, size_t length);

/* Returns since when (microseconds since 1970) INSTANCE has been ready without being started, by the HISTORY of a boot.
 * Returns 0 if its gate was passed (the journal does not say when the unit stopped), or if it is not known. */
uint64_t history_unused_since(const HistoryEntries *history, const char *instance);

/* Returns who set pages of this size that no file explains: "2026-12-31 23:59:59: 40 to 60 pages of 2M on node 0, not
 * by hugeplan", the last addition on each node that hugepland saw; or that this is not known, and why. */
const char *history_say_who(Arena *arena, const HistoryEntries *history, uint64_t page_size_bytes);

/* Removes verdicts that repeat the instance's last verdict and reason: a restarted daemon logs each verdict again. */
void history_fold(HistoryEntries *history);

/* ---- message identifiers ---- */

/* The journal's message identifiers, one for each kind of reason or problem: those of units/hugeplan.catalog, which
 * explains them. An identifier never changes. systemd.journal-fields(7), MESSAGE_ID. */
typedef struct Message {
        const char *kind; /* the id of a reason or problem, its family, or a verdict */
        const char *id;   /* 128 bits as 32 hexadecimal digits */
} Message;

extern const Message messages[];
extern const size_t n_messages;

/* Returns the message of KIND, or else that of its family, the first word of KIND: "config-syntax" is explained as
 * "config". Returns NULL if neither has a message. */
const Message *message_find(const char *kind);

/* Returns the kind under which the journal reports INSTANCE: its reason, or its verdict if that needs no reason. */
const char *message_kind(const StatusInstance *instance);
