/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Proof: whether a database that was given huge pages really runs with them.
 *
 * What was seen of its unit's processes (inspect/server_look.h) against what the status has for the instance.
 * Pure, and the only judge: status, verify, check, report and metrics all ask it. What could not be seen is left
 * out with its reason, and then the outcome is not known: neither good nor bad.
 *
 * A server fell back where its mappings show it. It maps fewer huge pages than it was given, or than its settings
 * need, and small memory stands in their place: shared memory; or private memory, where both a piece of its main
 * memory (a chunk, the pool) is missing and a small mapping is at least as large; or, where the size of the pieces
 * is not known, where as much private memory as is missing is in small pages. How small a part of the whole
 * that is does not count. It also fell back where it maps none, long after its start, or by its own settings.
 * Sources of the reasons: what the engines do is measured, for each in src/engines/. */

#include "engines/formula.h"
#include "read/memory_map.h"
#include "status/status.h"

typedef enum Outcome {
        OUTCOME_UNKNOWN,     /* it runs, and what it maps cannot be seen */
        OUTCOME_NOT_STARTED, /* no process is in its unit */
        OUTCOME_STARTING,    /* it has only just been started, and maps nothing yet */
        OUTCOME_IN_USE,
        OUTCOME_IDLE,      /* it has reserved them, and touched few in a day and more */
        OUTCOME_FELL_BACK, /* to small pages, with all or with a part */
} Outcome;

/* Why a server fell back; each has a remedy of its own. */
typedef enum FallCause {
        FALL_NONE,
        FALL_SHORT, /* by plan: it takes more than was meant for it */
        FALL_LOST,  /* enough was meant for it, and was not there when it started */
        FALL_OFF,   /* its own settings have huge pages switched off */
} FallCause;

/* What was seen of the processes of a unit; at a glance, of the first of them. */
typedef struct ServerLook {
        bool is_running; /* a server: not where nothing but its supervisor, as Patroni, is in the unit */
        bool is_glance;
        uint64_t pid; /* of the server: the process that the others come from; 0: not known */
        const char *command;
        uint64_t age_usec; /* 0: not known */
        size_t n_processes;
        VEC(PageUser) pages; /* one for each page size that it has any of */
        bool is_counted; /* the hugetlb controller has counted all that it maps: the figures are exact */
        bool has_map;
        bool is_all_mapped;        /* by it `pages` are all that is mapped */
        MemoryMap map;             /* of the server */
        uint64_t page_table_bytes; /* VmPTE of all its processes; 0: not known */
        uint64_t resident_bytes;   /* VmRSS of the process with the most: small pages only */
        /* What is in force for the server; NULL or 0: not known. */
        const char *memory_nodes;  /* Mems_allowed_list: its cpuset */
        const char *thp;           /* "off" where its own flag turns transparent huge pages off */
        const char *memory_lock;   /* the soft limit: bytes, or "unlimited" */
        PageCounts limits;         /* hugetlb limits of its control group */
        VEC(const char *) missing; /* figures that are left out: sentences */
} ServerLook;

typedef struct ProofInput {
        const StatusInstance *instance;
        const ServerLook *look;
        const InstanceConfig *config; /* NULL: not known */
        const Settings *settings; /* the database's own, by its files; NULL: they are not known */
        const Sizing *sizing;     /* what they need of the instance's page size; NULL: likewise */
        const char *wrong;        /* what is wrong with its files, as a sentence; NULL: nothing */
        uint64_t n_sessions_max;  /* that the database allows; 0: not known */
        const SmallTables *small_tables; /* seen with small pages; NULL: it was not */
        uint64_t base_page_bytes;        /* 0: not known */
} ProofInput;

typedef struct Deviation {
        const char *text, *remedy;
} Deviation;

struct Proof {
        const StatusInstance *instance;
        const ServerLook *look;
        Outcome outcome;
        FallCause cause;    /* of a fall back */
        bool is_as_planned; /* false: what DEVIATIONS say, or it fell back, or that is not known */
        uint64_t page_size_bytes;
        uint64_t wanted_pages; /* by what it was let start with, where it runs with that */
        const PageUser *own;   /* what LOOK has of that size; NULL: nothing */
        uint64_t mapped_pages, touched_pages; /* of it */
        bool is_mapped_known;                 /* false: mapped_pages is what is surely in use */
        bool is_lower_bound;                  /* there may be more touched */
        uint64_t small_bytes;      /* small pages that may be in the place of huge ones */
        bool may_stand_in;         /* whether some of them are */
        const char *why, *remedy;  /* of a fall back; or why it is not known */
        VEC(Deviation) deviations; /* pages of another size, on other nodes, more than planned */
        const SmallTables
                *seen_tables; /* what page tables came to with small pages; NULL: not known */
        /* What they would come to with small pages, reckoned, if all processes touched all of it: as many as now, and
         * as many as the database allows. 0: not known. */
        uint64_t small_tables_bytes;
        uint64_t n_sessions_max;
        uint64_t worst_tables_bytes;
};

typedef VEC(Proof) ProofList;

Proof proof_judge(Arena *arena, const ProofInput *input);

/* Adds what is not as it should be, or not known: why, and what to do. A fall back is of SEVERITY. The ids are those
 * of rules (model/rule.h). */
void proof_add_problems(const Proof *proof, Severity severity, Diags *problems);

/* Whether more can be told of LOOK with the database's own settings: there is small memory to be explained. */
bool proof_wants_settings(const Engine *engine, const ServerLook *look);

/* The nodes of its pages: as the kernel counts those in use; the rest, where they were granted. */
NodePages *proof_places(Arena *arena, const Proof *proof, size_t *ret_n);

/* "in use", "fell back", "not started", "starting", "idle 3 d", "not known". */
char *proof_word(Arena *arena, const Proof *proof);

/* "in-use", "fell-back", ..., "unknown": for programs. */
const char *outcome_name(Outcome outcome);

/* "short", "lost", "off"; NULL for none. */
const char *fall_cause_name(FallCause cause);

/* How long ago, in whole units as people say it: "3 d", "5 h", "12 min". */
char *proof_format_age(Arena *arena, uint64_t age_usec);
