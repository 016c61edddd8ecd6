/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Configuration: what the administrator asked for. hugeplan.d(5).
 *
 * Stricter than systemd on purpose: a file with one mistake is refused whole, by file, line, key and remedy, while the
 * other files still apply. A file and its extensions in NAME.conf.d/ make one instance; a refused extension makes that
 * instance invalid, because the administrator's intent is then not known. */

#include "base/arena.h"
#include "base/diag.h"
#include "base/id_set.h"
#include "base/index.h"
#include "base/size.h"
#include "engines/engine.h"
#include "model/problem.h"
#include "model/read_fault.h"
#include "model/thp.h"
#include "read/accounts.h"
#include "read/source.h"

/* Mount=: "PATH [mode=0770] [owner=USER[:GROUP]] [size=SIZE] [min_size=SIZE]".
 *
 * The path is written to unit files, where specifiers, quotes, backslashes and whitespace have a meaning. No mount
 * point needs them, so a path that contains one is refused, and any other is written unquoted. System directories are
 * refused too, and so are directories that services see a private copy of. */

/* A hugetlbfs mount that only one instance uses. */
typedef struct MountConfig {
        const char *path; /* absolute and normalized; needs no quoting in unit files */
        unsigned mode;
        const char *user, *group; /* owner=; NULL: not given */
        uint64_t size_bytes;      /* the capacity; 0: not given */
        uint64_t min_size_bytes;  /* reserved when it is mounted; 0: none */
} MountConfig;

/* Sets *ret and returns NULL, or returns an error message and leaves *ret unchanged. */
const char *mount_config_parse(Arena *arena, const char *value, MountConfig *ret);

/* Returns whether A and B, both normalized, are equal or one contains the other. */
bool mount_paths_overlap(const char *a, const char *b);

/* Returns "mnt-huge.mount" for "/mnt/huge", like `systemd-escape --path --suffix=mount`: systemd.unit(5), STRING
 * ESCAPING FOR INCLUSION IN UNIT NAMES. */
char *mount_unit_name(Arena *arena, const char *path);

/* What helps a user, or hugepland, which is root without capabilities, with a file or directory that is denied. */
#define CONFIG_DENIED_REMEDY                                                                    \
        "run hugeplanctl as root, or start hugeplan.service, which answers all users; if root " \
        "is denied, too, make it readable for all (chmod)"

/* One file as host/ found it; files that are applied later come later in the list. */
typedef struct ConfigFile {
        const char *path;    /* as an administrator would write it: "/etc/hugeplan.d/20-pg.conf" */
        const char *name;    /* "20-pg.conf" */
        const char *extends; /* a file of NAME.conf.d: "NAME.conf"; else NULL */
        const char *text;    /* NULL: the file could not be read */
        size_t size;         /* bytes of text, which may contain NULs */
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
        VEC(SilencedRule) silenced; /* findings of `check` to be silenced */
        const char *fingerprint;    /* hash of all assignments in the order of reading */
} HostConfig;

typedef struct NodeMemory {
        unsigned node;
        uint64_t bytes;
} NodeMemory;

/* The file and line that set a value, for `explain`. */
typedef struct ConfigOrigin {
        const char *key;
        const char *value;
        const char *file;
        unsigned line;
} ConfigOrigin;

typedef enum MemoryKind { MEMORY_UNSET, MEMORY_AUTO, MEMORY_BYTES } MemoryKind;

/* The default of WaitTimeout=: below systemd's 90 s for the start of a service, so that the gate can still print the
 * cause. */
#define CONFIG_WAIT_TIMEOUT      "85s"
#define CONFIG_WAIT_TIMEOUT_USEC (85 * USEC_PER_SEC)

/* A number of pages of one size; a size of 0 stands for the size that the instance gets. */
typedef struct PageCount {
        uint64_t page_size_bytes;
        uint64_t pages;
} PageCount;

typedef VEC(PageCount) PageCounts;

/* The most pages that the instance's unit was seen to have mapped at once, and the settings it had. */
typedef struct Seen {
        PageCounts pages;     /* none: nothing was observed */
        PageCounts base;      /* `Learned.pages` before that start; none: there were none */
        const char *unit;     /* the unit observed */
        const char *version;  /* `Learned.version` at that time; NULL: not known */
        const char *settings; /* `Learned.settings` at that time; NULL: not known */
        bool is_exact;        /* false: some memory had small pages or could not be examined */
} Seen;

/* The contents of NAME.conf.d/90-learned.conf: the figures found at the last start. */
typedef struct Learned {
        PageCounts pages;
        /* The engine's rule applied to the same settings (X-Rule=): while the rule's result is the same, the settings
         * have not changed. None: not known. */
        PageCounts by_rule;
        const char *version;  /* of the server that gave the figures; NULL: not known */
        const char *settings; /* hash of the settings that the rule uses; NULL: not known */
        bool is_exact;        /* the server itself gave the figure */
        bool is_fixed;      /* with these settings all is mapped at the start (engine_is_fixed()) */
        bool is_of_running; /* learned during a run that may have other settings */
        bool is_broken;     /* some lines of the file are invalid; the file is to be rewritten */
        ThpPolicy thp;      /* the preference of `version`; THP_AUTO: none */
        Seen seen;
} Learned;

enum { PAGE_SIZES_MAX = 8, PRIORITY_MAX = 100, PRIORITY_DEFAULT = 50 };

typedef struct InstanceConfig {
        const char *name;
        const char *file; /* the main file's path */
        /* Why the instance is invalid, with file, line and key; NULL: the instance is valid. An invalid instance has a
         * name and, if it could be read, a unit; no other member is valid. */
        const Diag *refusal;
        const Engine *engine;
        const char *unit; /* NULL: no unit waits for pages */
        MemoryKind memory_kind;
        uint64_t memory_bytes; /* with MEMORY_AUTO: the upper bound; 0: no bound */
        PageCounts pages;      /* none: Pages= not given */
        Learned learned;       /* used with MEMORY_AUTO only */
        /* Bytes, in order of preference; 0 stands for the kernel's default size. */
        uint64_t page_sizes[PAGE_SIZES_MAX];
        size_t n_page_sizes;
        bool has_nodes; /* Nodes= is set; false: all nodes */
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
        /* Hash of all assignments in the order of reading, without learned ones and "X-" keys: configurations with the
         * same fingerprint are equivalent. */
        const char *fingerprint;
} InstanceConfig;

typedef struct Config {
        HostConfig host;
        InstanceConfig *instances; /* sorted by name; names are unique */
        size_t n_instances;
        size_t n_files;                    /* files in effect; 0: nothing is configured */
        Index *by_unit;                    /* instances by unit, in the order of `instances` */
        VEC(const InstanceConfig *) bound; /* instances with Placement=bind that reserve pages */
        Diags problems;
        /* Some files could not be read: there may be more instances, and the settings may differ. */
        bool is_incomplete;
        bool is_unlisted; /* a directory could not be read, so that even names may be missing */
        ReadFault fault; /* the transient read error (model/read_fault.h); its `error` is 0 if there is none */
        /* The files read, and a stamp of their state (host/config_load.h); 0: they may have changed since. */
        SourceNames paths;
        uint64_t stamp;
} Config;

const InstanceConfig *config_find(const Config *config, const char *name);

/* Rebuilds `by_unit` and `bound`, after `instances` has changed. */
void config_index(Arena *arena, Config *config);

/* Returns the bytes that Memory= or NodeMemory= ask for; 0: neither is set. */
uint64_t instance_memory_bytes(const InstanceConfig *instance);

/* Returns whether the size of INSTANCE is learned before its start, even if only to check the configured size. */
bool instance_learns_size(const InstanceConfig *instance);

/* Returns whether anything is learned of INSTANCE: its size, or only the server's version, which determines the
 * preference for transparent huge pages or the use of System V segments. */
bool instance_is_learning(const InstanceConfig *instance);

/* Returns whether the mappings of INSTANCE's unit are observed while the unit runs. */
bool instance_is_looked_at(const InstanceConfig *instance);

/* Returns the last line that set KEY ("Mount"), or NULL if none did. */
const ConfigOrigin *config_find_origin(const InstanceConfig *instance, const char *key);

/* Returns the number of pages of that size, or 0 if COUNTS has none. */
uint64_t page_counts_find(const PageCounts *counts, uint64_t page_size_bytes);

/* Returns AMOUNT's share of MEMORY_BYTES, or its fixed amount. */
uint64_t amount_of(const Amount *amount, uint64_t memory_bytes);
char *amount_format(Arena *arena, const Amount *amount);

/* Names in the order of their enumerations; NULL at the end. */
extern const char *const placement_names[], *const shortage_names[];

/* Returns a diagnostic on the value of KEY, at the file and line that set it last, or else at the instance's file. */
Diag config_diag(const InstanceConfig *instance, ProblemKind kind, const char *key,
                 const char *text, const char *remedy);

/* Makes a configuration of FILES, which are in the order of reading: groups them into instances, and checks each
 * instance and all of them together. Never fails: errors are in `problems` and in the instances' `refusal`. */
Config *config_parse(Arena *arena, const ConfigFiles *files);

/* ---- transparent huge pages: preferences; plan/host_plan.h has what is written ---- */

enum { SYSTEMD_MEMORY_THP = 260 }; /* the first version with MemoryTHP=, systemd.exec(5) */

/* Returns the host's policy for CONFIG; THP_KEEP: it is not changed. */
ThpPolicy thp_resolve(const Config *config);

/* Returns whether a unit can have PREFERENCE by itself (MemoryTHP=, systemd 260) while the host has POLICY. */
bool thp_is_served_by_unit(ThpPolicy preference, ThpPolicy policy);

/* Returns an instance's preference: its TransparentHugePages=, else what was learned of its version, else its engine's;
 * THP_AUTO: none. */
ThpPolicy thp_preference_of(const InstanceConfig *instance);

/* ---- what the unit of an instance needs besides its pages; plan/host_plan.h has the host's side ---- */

/* Returns SharedMemory=, or the engine's kind of shared memory if that is not set. */
SharedMemory instance_shared_memory(const InstanceConfig *instance);

/* Returns the unit's LimitMEMLOCK= as a word for a unit file, in bytes; NULL: none is set. systemd.exec(5). */
const char *instance_memory_lock(const InstanceConfig *instance);

/* Returns whether the unit's processes must be in the group NAME_HUGETLB_GROUP. */
bool instance_needs_group(const InstanceConfig *instance);

/* Returns whether the processes of any unit must be in the group NAME_HUGETLB_GROUP. */
bool config_needs_group(const Config *config);

/* Makes an instance invalid, by file and line, if its User= or Group= does not exist: systemd could not start the unit,
 * or would start it as another user. Accounts are not checked if they also come from elsewhere (LDAP). */
void config_check_accounts(Arena *arena, Config *config, const Accounts *accounts);
