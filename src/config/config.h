/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Configuration: what the administrator asked for. hugeplan.d(5).
 *
 * Stricter than systemd on purpose: a file with one mistake is refused whole, by file, line, key
 * and remedy, while the other files still apply. A file extended by NAME.conf.d/ makes one instance
 * with its extensions; a refused extension makes that instance invalid, for what the administrator
 * meant is not known then. */

#include "base/diag.h"
#include "base/id_set.h"
#include "base/index.h"
#include "base/size.h"
#include "config/mount_config.h"
#include "engines/engine.h"
#include "model/problem.h"
#include "model/read_fault.h"
#include "model/thp.h"
#include "read/source.h"

/* One file as the host room found it: later files come later in the list. */
typedef struct ConfigFile {
        const char *path;    /* as an administrator would write it: "/etc/hugeplan.d/20-pg.conf" */
        const char *name;    /* "20-pg.conf" */
        const char *extends; /* for the files of NAME.conf.d: "NAME.conf"; else NULL */
        const char *text;    /* NULL when it could not be read */
        size_t size;         /* bytes of text, which may hold NULs */
        int error;           /* 0, or the negative errno of reading */
} ConfigFile;

typedef VEC(ConfigFile) ConfigFiles;

/* An amount given as bytes or as a share of the host's (or a node's) memory. */
typedef struct Amount {
        bool is_share;
        uint64_t bytes;      /* when !is_share */
        uint64_t hundredths; /* of a percent, when is_share */
} Amount;

typedef enum ExistingPages { EXISTING_USE, EXISTING_KEEP } ExistingPages;
typedef enum OnDrift { DRIFT_REPAIR, DRIFT_REPORT } OnDrift;
typedef enum Placement {
        PLACEMENT_SPREAD,
        PLACEMENT_PACK,
        PLACEMENT_BIND,       /* spread, and the unit may use no other nodes */
        PLACEMENT_INTERLEAVE, /* spread, and the unit takes its pages from the nodes in turn */
        PLACEMENTS,
} Placement;
typedef enum Shortage { SHORTAGE_REFUSE, SHORTAGE_DEGRADE } Shortage;
typedef enum SharedMemory {
        SHARED_MEMORY_ENGINE,
        SHARED_MEMORY_MMAP,
        SHARED_MEMORY_SYSV,
        SHARED_MEMORY_HUGETLBFS,
} SharedMemory;
typedef enum TriState { TRI_AUTO, TRI_NO, TRI_YES } TriState;

/* One word of SilenceRules=. */
typedef struct SilencedRule {
        const char *id;
        const char *file;
        unsigned line;
} SilencedRule;

typedef struct HostConfig {
        ThpPolicy thp;
        Amount keep_free;   /* per node */
        Amount auto_memory; /* of each node, for all instances with Memory=auto together */
        bool may_compact;
        bool may_reclaim;
        bool may_drop_caches;
        uint64_t boot_timeout_usec;
        uint64_t reserve_timeout_usec;
        ExistingPages existing_pages;
        OnDrift on_drift;
        bool keep_shared_memory_limits;
        VEC(SilencedRule) silenced; /* findings of `check` that are not wanted */
        const char *fingerprint;    /* of all assignments in the order of reading */
} HostConfig;

typedef struct NodeMemory {
        unsigned node;
        uint64_t bytes;
} NodeMemory;

/* Where a value came from, for `explain`. */
typedef struct ConfigOrigin {
        const char *key;
        const char *value;
        const char *file;
        unsigned line;
} ConfigOrigin;

typedef enum MemoryKind { MEMORY_UNSET, MEMORY_AUTO, MEMORY_BYTES } MemoryKind;

/* WaitTimeout= where it is not set: below the 90 s that systemd gives a starting service, so that the
 * gate can still say why. */
#define CONFIG_WAIT_TIMEOUT      "85s"
#define CONFIG_WAIT_TIMEOUT_USEC (85 * USEC_PER_SEC)

/* A number of pages of one size; of whatever size the instance gets where that is 0. */
typedef struct PageCount {
        uint64_t page_size_bytes;
        uint64_t pages;
} PageCount;

typedef VEC(PageCount) PageCounts;

/* What the page tables of a unit came to while it ran with small pages alone. */
typedef struct SmallTables {
        uint64_t bytes; /* of all its processes; 0: it was not seen so */
        uint64_t n_processes;
        const char *at; /* when, as people write it; NULL: not known */
} SmallTables;

/* The most that its unit was seen to have mapped at once, and the settings that this held for. */
typedef struct Seen {
        PageCounts pages;     /* none: nothing was seen */
        PageCounts base;      /* what `Learned.pages` said before its start; none: nothing did */
        const char *unit;     /* whose processes */
        const char *version;  /* what `Learned.version` was then; NULL: not known */
        const char *settings; /* what `Learned.settings` was then; NULL: not known */
        bool is_exact; /* false: some of it was of small pages, or could not be looked into */
        SmallTables small_tables; /* of the last time that it ran so; may be known without pages */
} Seen;

/* What NAME.conf.d/90-learned.conf holds: the figures that the last start found. */
typedef struct Learned {
        PageCounts pages;
        /* What the engine's rule made of the same settings (X-Rule=): as long as it does, they have
         * not changed. None: not known. */
        PageCounts by_rule;
        const char *version;  /* of the server that was asked; NULL: not known */
        const char *settings; /* a fingerprint of those that the rule counts; NULL: not known */
        bool is_exact;        /* the server said so itself */
        bool is_fixed; /* with these settings it maps everything at its start (engine_is_fixed()) */
        bool is_of_running; /* found out while it ran: it may have been started with other settings */
        bool is_broken;     /* some lines of its file could not be read; it is to be written anew */
        ThpPolicy thp;      /* the preference of that version; THP_AUTO: none */
        Seen seen;
} Learned;

enum { PAGE_SIZES_MAX = 8, PRIORITY_MAX = 100, PRIORITY_DEFAULT = 50 };

typedef struct InstanceConfig {
        const char *name;
        const char *file; /* the main file's path */
        /* Why the instance is invalid, with file, line and key; NULL: it is valid. An invalid
         * instance has a name and, if that could be read, a unit; nothing else holds. */
        const Diag *refusal;
        const Engine *engine;
        const char *unit; /* NULL: none waits */
        MemoryKind memory_kind;
        uint64_t memory_bytes; /* with MEMORY_AUTO: the most that may come of it; 0: no bound */
        PageCounts pages;      /* none: Pages= not given */
        Learned learned;       /* counts with MEMORY_AUTO only */
        /* Bytes, in order of preference; 0 stands for the kernel's default size. */
        uint64_t page_sizes[PAGE_SIZES_MAX];
        size_t n_page_sizes;
        bool has_nodes; /* Nodes= named them; else all */
        IdSet nodes;
        Placement placement;
        NodeMemory *node_memory; /* sorted by node */
        size_t n_node_memory;
        Shortage shortage;
        unsigned priority;
        uint64_t wait_timeout_usec;
        ThpPolicy thp;
        TriState isolate;
        SharedMemory shared_memory;
        const char *user, *group, *config_file, *data_directory, *memory_lock;
        const MountConfig *mount; /* NULL: none */
        VEC(ConfigOrigin) origins;
        /* Of all its assignments in the order of reading, but for those that were learned, and for "X-"
         * keys: two configurations with the same mean the same. */
        const char *fingerprint;
} InstanceConfig;

typedef struct Config {
        HostConfig host;
        InstanceConfig *instances; /* sorted by name; names are unique */
        size_t n_instances;
        size_t n_files;                    /* that count; 0: nothing is described */
        Index *by_unit;                    /* the instances, in this order */
        VEC(const InstanceConfig *) bound; /* those with Placement=bind that reserve pages */
        Diags problems;
        /* Not all of it could be read: there may be more instances than these, and other settings. */
        bool is_incomplete;
        bool is_unlisted; /* not even all names: a directory could not be read */
        ReadFault fault; /* one that may pass; its error is 0 where it is no fault, or nothing is wrong */
        /* What it was read from, and a stamp of that (host/config_load.h); 0: it may be another by now. */
        SourceNames paths;
        uint64_t stamp;
} Config;

const InstanceConfig *config_find(const Config *config, const char *name);

/* Makes `by_unit` and `bound` anew: the instances are others now. */
void config_index(Arena *arena, Config *config);

/* What Memory= or NodeMemory= ask for, in bytes; 0: neither is given. */
uint64_t instance_memory_bytes(const InstanceConfig *instance);

/* Whether the size of INSTANCE is found out before its start, or whether the one that was given will do. */
bool instance_learns_size(const InstanceConfig *instance);

/* Whether anything is: that, or the version alone, which decides what it wants of transparent huge pages, or whether
 * it takes System V segments. */
bool instance_is_learning(const InstanceConfig *instance);

/* Whether it is looked at what INSTANCE's unit has mapped, while that runs. */
bool instance_is_looked_at(const InstanceConfig *instance);

/* The last line that set KEY ("Mount"); NULL where none did. */
const ConfigOrigin *config_find_origin(const InstanceConfig *instance, const char *key);

/* The number for pages of that size; 0 where COUNTS has none. */
uint64_t page_counts_find(const PageCounts *counts, uint64_t page_size_bytes);

/* The share of MEMORY_BYTES, or the fixed amount. */
uint64_t amount_of(const Amount *amount, uint64_t memory_bytes);
char *amount_format(Arena *arena, const Amount *amount);

/* In the order of their enumerations; NULL at the end. */
extern const char *const placement_names[], *const shortage_names[];

/* What is wrong with the value of KEY, of the file and line that set it last, else of the instance's file. */
Diag config_diag(const InstanceConfig *instance, ProblemKind kind, const char *key,
                 const char *text, const char *remedy);

/* From FILES (sorted by name as they are to be read) to a configuration: which make up an instance, and what is wrong
 * with them as a whole. Never fails: what is wrong stands in `problems` and in the instances' `refusal`. */
Config *config_parse(Arena *arena, const ConfigFiles *files);
