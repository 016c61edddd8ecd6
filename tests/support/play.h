/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A keeper on a host that is a directory. The test plays the kernel, which gives what it has, systemd, which
 * makes control groups and removes them, and the daemon, which owns the keeper. */

#include "keeper/keeper.h"
#include "support/tree.h"

#include <sys/resource.h>

#define NODE_FORMAT "/sys/devices/system/node/node%u/"
#define POOL_FORMAT NODE_FORMAT "hugepages/hugepages-2048kB/%s"
#define GROUPS      "/sys/fs/cgroup/system.slice/"

enum { NODES = 2, NODE_PAGES = 1000 /* that memory has room for, beside KeepFree= */ };

typedef struct PlayedPool {
        uint64_t total, used; /* pages */
        uint64_t most;        /* memory is too fragmented for more */
        uint64_t lost;        /* that memory has room for no more: others have taken it */
        uint64_t more;        /* by which that rises with each write */
} PlayedPool;

typedef struct Play {
        const Tree *tree;
        Keeper *keeper;
        PlayedPool pools[NODES];
        uint64_t reserved;
        uint64_t unit_mapped, unit_used; /* by the one unit that use_pages() is for */
        uint64_t now_usec;
        bool wants_repair;    /* as verify() found */
        size_t n_rounds;      /* that pass_gate() took */
        Text writes;          /* "0:100 1:100": to which count which node was set */
        Text told;            /* events from LOG_WARNING on, one to a line */
        Text noted;           /* the others */
        HistoryFigures moved; /* of the last one that is of a pool */
} Play;

/* How often it was told. */
size_t count(const Text *text, const char *needle);

/* A test with a Play: a host with two nodes, and no configuration but KeepFree=1G. */
#define PLAY_TEST(name) TEST_WITH(name, Play, play_new, play_free, play)

Play *play_new(void);
void play_free(Play *play);

/* ---- the kernel ---- */

/* Shows the pools as they are, where the test has changed them. */
void show_host(const Play *play);

/* So many pages, of which none was made by a write. */
void set_pool(Play *play, unsigned node, uint64_t pages);

/* What becomes of a write. */
void react(Play *play, const ApplyOperation *operation);

/* No file can be opened any more, which is no answer; and they can be again. */
typedef struct rlimit HostFiles;

HostFiles break_host(void);
void mend_host(const HostFiles *before);

/* This file cannot be read (EAGAIN, which is no answer either) until what is returned is closed; negative where
 * the file system cannot do that. */
int lease_file(const Play *play, const char *path);

/* ---- systemd ---- */

/* It is there, and has MAPPED pages, of which USED of node 0 are touched. */
void start_unit(Play *play, const char *unit, uint64_t mapped, uint64_t used);
void stop_unit(Play *play, const char *unit, uint64_t mapped, uint64_t used);
/* One unit's pages are mapped, touched, and given back. */
void use_pages(Play *play, const char *unit, uint64_t mapped, uint64_t used);

/* ---- the owner of a keeper ---- */

void write_config(const Play *play, const char *name, const char *lines);
void remove_config(const Play *play, const char *name);

/* Starts a daemon, in the place of one that is there. */
void boot(Play *play);

/* What is to be written in the first round is not yet; B may be NULL. */
void begin(Play *play, const char *a, const char *b);

/* The same, and the first round is over. */
void settle(Play *play, const char *a, const char *b);

/* A look by the way. */
bool verify(Play *play);
bool verify_as(Play *play, bool has_memory, bool may_repair);

/* Until there is nothing left to be written; what was, "-" for nothing. */
const char *run(Play *play);

/* A round from its beginning; what was written. */
const char *round_of(Play *play);

const StatusInstance *status_of(const Play *play, const char *name);
const char *problems_of(const Play *play);

#define assert_verdict(play, name, word) \
        assert_text(verdict_name(status_of((play), (name))->verdict), (word))

/* "a 0:50/1:50; hold a.service/a 0:50/1:50 any run r1": what is on disk. */
const char *state_text(const Play *play);
const LedgerPool *pool_on_disk(const Play *play, unsigned node);

/* ---- gates ---- */

/* Of a unit (NULL: its control group is not known) that is about to start. */
Gate starting(const Play *play, const char *instance, const char *unit);
Gate starting_as(const Play *play, const char *instance, const char *unit, const char *run);

/* "pass", "wait", "refuse: REASON", "gone" */
const char *try_gate(Play *play, Gate *gate, bool may_try);

/* As a daemon does for one that waits: rounds as long as it is told to. */
const char *pass_gate(Play *play, Gate *gate);

/* The same once systemd has made its unit's control group. */
const char *let_start(Play *play, Gate *gate);
