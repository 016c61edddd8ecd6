/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A keeper on a host that is a directory. The test plays the kernel, which adds the pages that it can; systemd, which
 * makes and removes control groups; and the daemon, which owns the keeper. */

#include "keeper/keeper.h"
#include "support/tree.h"

#include <sys/resource.h>

#define NODE_FORMAT "/sys/devices/system/node/node%u/"
#define POOL_FORMAT NODE_FORMAT "hugepages/hugepages-2048kB/%s"
#define GROUPS      "/sys/fs/cgroup/system.slice/"

enum { NODES = 2, NODE_PAGES = 1000 /* that fit into a node's memory, besides KeepFree= */ };

typedef struct PlayedPool {
        uint64_t total, used; /* pages */
        uint64_t most;        /* the pages at which fragmentation stops the pool */
        uint64_t lost;        /* pages for which others have taken the memory */
        uint64_t more;        /* by which each write raises `most` */
} PlayedPool;

typedef struct Play {
        const Tree *tree;
        Keeper *keeper;
        PlayedPool pools[NODES];
        uint64_t reserved;
        uint64_t unit_mapped, unit_used; /* by the unit of use_pages() */
        uint64_t now_usec;
        bool wants_repair;    /* result of verify() */
        size_t n_rounds;      /* of pass_gate() */
        Text writes;          /* "0:100 1:100": node and count of each write */
        Text warnings;        /* events of LOG_WARNING and worse, one per line */
        Text notices;         /* the other events */
        HistoryFigures moved; /* of the latest event about a pool */
} Play;

/* How often NEEDLE occurs. */
size_t count(const Text *text, const char *needle);

/* A test with a Play: a host with two nodes, and no configuration but KeepFree=1G. */
#define PLAY_TEST(name) TEST_WITH(name, Play, play_new, play_free, play)

Play *play_new(void);
void play_free(Play *play);

/* ---- the kernel ---- */

/* Writes the host's files after the test has changed the pools. */
void show_host(const Play *play);

/* Sets the pages of a pool without a write. */
void set_pool(Play *play, unsigned node, uint64_t pages);

/* Applies the keeper's write to the pools. */
void react(Play *play, const ApplyOperation *operation);

/* Makes all opening of files fail with EMFILE, and ends that. */
typedef struct rlimit HostFiles;

HostFiles break_host(void);
void mend_host(const HostFiles *before);

/* Makes reading this file fail with EAGAIN until the returned descriptor is closed. Negative if the file system does not
 * support leases. */
int lease_file(const Play *play, const char *path);

/* ---- systemd ---- */

/* Makes the unit's control group, with MAPPED pages, of which USED on node 0 are touched. */
void start_unit(Play *play, const char *unit, uint64_t mapped, uint64_t used);
void stop_unit(Play *play, const char *unit, uint64_t mapped, uint64_t used);
/* Changes the pages of one unit. */
void use_pages(Play *play, const char *unit, uint64_t mapped, uint64_t used);

/* ---- the owner of a keeper ---- */

void write_config(const Play *play, const char *name, const char *lines);
void remove_config(const Play *play, const char *name);

/* Starts a keeper in place of the present one. */
void boot(Play *play);

/* Configures instances "a" and "b", and starts a keeper, before the writes of its first round. B may be NULL. */
void begin(Play *play, const char *a, const char *b);

/* The same, and finishes the first round. */
void settle(Play *play, const char *a, const char *b);

bool verify(Play *play);
bool verify_as(Play *play, bool has_memory, bool may_repair);

/* Performs writes until none is left. Returns them; "-": none. */
const char *run(Play *play);

/* Begins and finishes a round. Returns its writes. */
const char *round_of(Play *play);

const StatusInstance *status_of(const Play *play, const char *name);
const char *problems_of(const Play *play);

#define assert_verdict(play, name, word) \
        assert_text(verdict_name(status_of((play), (name))->verdict), (word))

/* "a 0:50/1:50; hold a.service/a 0:50/1:50 any run r1": the ledger on disk. */
const char *state_text(const Play *play);
const LedgerPool *pool_on_disk(const Play *play, unsigned node);

/* ---- gates ---- */

/* A gate of a unit that starts. NULL: INSTANCE.service, whose control group is unknown. */
Gate starting(const Play *play, const char *instance, const char *unit);
Gate starting_as(const Play *play, const char *instance, const char *unit, const char *run);

/* "pass", "wait", "refuse: REASON", "gone" */
const char *try_gate(Play *play, Gate *gate, bool may_try);

/* Runs rounds for a waiting gate as the daemon does. */
const char *pass_gate(Play *play, Gate *gate);

/* The same after systemd has made the unit's control group. */
const char *let_start(Play *play, Gate *gate);
