/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Proof: whether a database that was granted huge pages runs with them.
 *
 * Compares the processes of a unit (inspect/server_look.h) with the instance's status. Pure, and the only judge:
 * status, verify, check, report and metrics use it. Figures that cannot be read are left out with the reason, and the
 * outcome is then unknown: neither good nor bad.
 *
 * A server fell back if its mappings prove it: it maps fewer huge pages than it was granted or than its settings need,
 * and small memory is in their place. Small memory is shared memory; or private memory, if a chunk of its main memory
 * is missing and a small mapping is at least as large; or, if the chunk size is not known, as much private memory in
 * small pages as is missing. The share of the whole does not matter. A server also fell back if it maps no huge pages
 * long after its start, or because of its own settings. Sources of the reasons: measurements, for each engine in
 * src/engines/. */

#include "engines/formula.h"
#include "read/process.h"
#include "status/status.h"

typedef enum Outcome {
        OUTCOME_UNKNOWN,     /* it runs, and its mappings cannot be read */
        OUTCOME_NOT_STARTED, /* its unit has no process */
        OUTCOME_STARTING,    /* it was started a moment ago, and maps none yet */
        OUTCOME_IN_USE,
        OUTCOME_IDLE,      /* it has reserved them, and touched few of them in a day or more */
        OUTCOME_FELL_BACK, /* all or part of its memory is in small pages */
} Outcome;

/* Why a server fell back; each cause has its own remedy. */
typedef enum FallCause {
        FALL_NONE,
        FALL_SHORT, /* by plan: it needs more than was planned for it */
        FALL_LOST,  /* enough was planned, and was not available when it started */
        FALL_OFF,   /* huge pages are off in its own settings */
} FallCause;

/* The processes of a unit; after a glance, only the first of them. */
typedef struct ServerLook {
        bool is_running; /* a server runs; false if only a supervisor, such as Patroni, does */
        bool is_glance;
        uint64_t pid; /* of the server, which is the ancestor of the others; 0: not known */
        const char *command;
        uint64_t age_usec; /* 0: not known */
        size_t n_processes;
        VEC(PageUser) pages; /* one for each page size that it uses */
        bool is_counted; /* the figures are exact: the hugetlb controller has counted all it maps */
        bool has_map;
        bool is_all_mapped;        /* by the map, `pages` are all mapped pages */
        MemoryMap map;             /* of the server */
        uint64_t page_table_bytes; /* VmPTE of all its processes; 0: not known */
        VEC(const char *) missing; /* figures that could not be read: sentences */
} ServerLook;

typedef struct ProofInput {
        const StatusInstance *instance;
        const ServerLook *look;
        const InstanceConfig *config; /* NULL: not known */
        const Settings *settings;     /* the database's own, from its files; NULL: not known */
        const Sizing *sizing;         /* their need of the instance's page size; NULL: not known */
        const char *wrong;            /* the problem with its files, as a sentence; NULL: none */
        uint64_t n_sessions_max;      /* the database's limit; 0: not known */
        uint64_t base_page_bytes;     /* 0: not known */
        bool is_unit_shared; /* the unit also has pages of other instances, which cannot be told apart */
} ProofInput;

typedef struct Deviation {
        const char *text, *remedy;
} Deviation;

struct Proof {
        const StatusInstance *instance;
        const ServerLook *look;
        Outcome outcome;
        FallCause cause;    /* of a fall back; else FALL_NONE */
        bool is_as_planned; /* false: deviations, a fall back, or not known */
        uint64_t page_size_bytes;
        uint64_t wanted_pages; /* of its start, if it runs with other pages than planned */
        const PageUser *own;   /* the pages of that size in LOOK; NULL: none */
        uint64_t mapped_pages, touched_pages; /* in OWN */
        bool is_mapped_known;                 /* false: mapped_pages are those certainly in use */
        bool is_lower_bound;                  /* touched_pages may be more */
        uint64_t small_bytes;      /* small pages that may be in the place of huge pages */
        bool may_stand_in;         /* some of them may be */
        const char *why, *remedy;  /* of a fall back, or of an unknown outcome */
        VEC(Deviation) deviations; /* pages of another size, on other nodes, more than planned */
        /* Estimated page tables with small pages if every process touches all of the memory: for the present number of
         * processes, and for as many as the database allows. 0: not known. */
        uint64_t small_tables_bytes;
        uint64_t n_sessions_max;
        uint64_t worst_tables_bytes;
};

typedef VEC(Proof) ProofList;

Proof proof_judge(Arena *arena, const ProofInput *input);

/* Adds each fall back (of SEVERITY), deviation and unknown outcome, with its reason and remedy. The ids are those of
 * rules (model/rule.h). */
void proof_add_problems(const Proof *proof, Severity severity, Diags *problems);

/* Returns whether LOOK has small memory that the database's own settings may explain. */
bool proof_wants_settings(const Engine *engine, const ServerLook *look);

/* Returns the nodes of its pages: pages in use by the kernel's counts, the rest by the grants. */
PagesByNode proof_places(Arena *arena, const Proof *proof);

/* Returns "in use", "fell back", "not started", "starting", "idle 3 d" or "not known". */
char *proof_word(Arena *arena, const Proof *proof);

/* Returns "in-use", "fell-back", ..., "unknown": for programs. */
const char *outcome_name(Outcome outcome);

extern const char *const fall_cause_names[]; /* "short", "lost" or "off"; NULL for none */

/* Returns an age in the largest whole unit: "3 d", "5 h", "12 min". */
char *proof_format_age(Arena *arena, uint64_t age_usec);
