/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The manager: the daemon's state and the loop of its work.
 *
 * A round is: probe, plan, write, read back, judge. It begins at start, on reload, when a gate finds
 * the pools short of the plan, and again after a while when something stayed short. Between two
 * writes, and while one runs in the worker's thread, clients are served. */

#include "apply/apply.h"
#include "apply/write_worker.h"
#include "demand/figures.h"
#include "host/host_plan_read.h"
#include "ipc/varlink_server.h"
#include "status/status.h"
#include "systemd/unit_manager.h"
#include "units/loaded_unit.h"

#include <systemd/sd-event.h>

typedef struct Manager Manager;
typedef struct Client Client;

typedef enum Phase {
        PHASE_IDLE,
        PHASE_RESERVING, /* a round is under way */
        PHASE_RETRYING,  /* something stayed short; another round will come */
} Phase;

/* A client that waits for an answer: a gate, a reload, or one that wants every change. */
struct Client {
        Client *next;
        Manager *manager;
        VarlinkCall *call;
        enum { CLIENT_GATE, CLIENT_RELOAD, CLIENT_RELEASE, CLIENT_GROW, CLIENT_SUBSCRIBER } kind;
        char *instance;   /* of a gate, a release or a growth */
        bool is_starting; /* the gate of the unit itself: its pages must be free now */
        bool has_tried;   /* a round was run for this gate */
        sd_event_source *timer;
};

/* What the log has said of an instance last. */
typedef struct Said {
        const char *instance;
        Verdict verdict;
        ReasonKind reason;
} Said;

/* What systemd has in effect of the instances' units (manager_units.c). */
typedef struct Units {
        Arena *arena; /* of the answer; lives from one to the next */
        LoadedUnits loaded;
        const char *key; /* as long as it is this, so is the answer; NULL: it has to be asked */
        uint64_t failed_usec; /* when it could not be asked last; 0: it could */
        bool is_expired;      /* it is asked whatever the key is */
        UnitQuery *query;     /* on its way, while the loop runs; NULL: none */
        Arena *query_arena;
        const char *query_key;
} Units;

/* What keeps the plan true after it was applied (manager_watch.c). */
typedef struct Watch {
        sd_event_source *files[256];
        size_t n_files;
        IdSet nodes; /* the nodes whose files are watched */
        sd_event_source *uevents, *settle_timer, *slow_timer;
        uint64_t settle_latest_usec; /* a burst of events is not waited for beyond it */
        uint64_t host_written_usec;  /* when somebody has set the pools of all nodes at once */
        bool has_hotplug;
        uint64_t repaired_usec;
        uint64_t repair_pause_usec;
} Watch;

struct Manager {
        const Root *root;
        sd_event *event;
        VarlinkServer *server;
        bool is_socket_ours; /* bound by us, not by systemd */
        WriteWorker *worker;
        sd_event_source *worker_source, *server_source, *boot_timer, *retry_timer;
        sd_event_source *alive_timer, *socket_watch;

        Arena *config_arena; /* lives from one reload to the next */
        const Config *config;
        Figures grown;         /* what gates have found out since; in config_arena */
        Arena *rejected_arena; /* of a reload that found mistakes */
        const Diags *rejected;
        Arena *round_arena;  /* lives from one round to the next */
        Topology *topology;  /* as the plan was made for it */
        const Topology *now; /* after applying */
        Ledger *ledger;
        Plan *plan;
        PoolLimits limits;
        Diags host_problems;
        Diags guard_problems;
        Arena *efforts_arena; /* what was done in the last round that did anything */
        Efforts efforts;
        Arena *before_arena; /* who had what when the last reload began */
        const Ledger *before;
        Apply *apply;
        ApplyOperation operation; /* under way in the worker */
        unsigned n_replans;

        Phase phase;
        bool is_ready_sent;
        bool is_held_back;          /* rescue mode: nothing was reserved */
        bool is_reload_wanted;      /* after the round under way */
        bool is_round_wanted;       /* likewise, on the same configuration */
        uint64_t started_usec;      /* when this daemon began */
        uint64_t effort_until_usec; /* when to stop trying harder */
        uint64_t round_ended_usec;
        uint64_t restored_usec; /* when what others had taken was put back last */
        uint64_t retry_delay_usec;
        Client *clients;
        Watch watch;
        Units units;
        Arena *said_arena;
        VEC(Said) said;
        VEC(const char *) said_problems; /* as they were written */
};

/* EVENT and ROOT must outlive it. Negative errno. */
int manager_new(const Root *root, sd_event *event, Manager **ret);
Manager *manager_free(Manager *manager); /* takes NULL; returns NULL */
void manager_freep(Manager **manager);

/* Serves FD (a listening socket, owned from now on), or binds the socket itself where FD is -1. */
int manager_listen(Manager *manager, int fd);

/* Reads the configuration and begins the first round. */
void manager_start(Manager *manager);

/* Reads the configuration anew and begins a round, after the one under way if there is one. */
void manager_reload(Manager *manager);

/* Begins a round on the present configuration, with fresh effort. No-op while one is under way. */
void manager_begin_round(Manager *manager);

/* The same, but after the round under way where there is one. */
void manager_begin_round_after(Manager *manager);

/* Notes in the ledger what NOW shows; how many pages others have moved between nodes. */
uint64_t manager_observe(Manager *manager, const Topology *now);

/* From now on the INSTANCE, whose size is automatic, needs these PAGES. Begins a round, after the one
 * under way, where the plan says otherwise; false: there is nothing to do. */
bool manager_grow(Manager *manager, const InstanceConfig *instance, const PageCounts *pages);

/* What is true now, from fresh counts; in ARENA. */
Status *manager_judge(const Manager *manager, Arena *arena);

/* The sizes of instances with Memory=auto: as their gates have found out, else, where nothing was
 * learned, as the databases' files say; in ARENA. */
Figures *manager_figures(const Manager *manager, Arena *arena, const Topology *topology);

/* Something was found out between two rounds: logs what is new, and tells subscribers. */
void manager_tell_news(Manager *manager);

/* From now on, as long as a start or a round lasts, the service manager hears that the loop runs
 * (manager_alive.c). */
void manager_alive_begin(Manager *manager);

/* Makes the socket's file anew where it is missing, now and whenever it goes (manager_socket.c). */
void manager_socket_keep(Manager *manager);

/* ---- keeping it true (manager_watch.c) ---- */

void manager_watch_start(Manager *manager);
void manager_watch_stop(Manager *manager);

/* After a round: watches the files of the nodes there are now. */
void manager_watch_refresh(Manager *manager);

/* Looks whether the host is still as the plan left it, and repairs what is not. */
void manager_verify(Manager *manager);

/* ---- what systemd has loaded (manager_units.c) ---- */

/* Asks systemd, and goes on meanwhile; what it answers is logged, and told to subscribers. */
void manager_units_begin(Manager *manager);

/* Asks and waits, unless it can be seen from files that the answer would be that of before. */
void manager_units_refresh(Manager *manager);

/* The same after manager_units_expire(), and nothing else. */
void manager_units_refresh_expired(Manager *manager);
void manager_units_expire(Manager *manager);

/* Adds what is wrong with the units, as far as systemd has answered. */
void manager_units_judge(const Manager *manager, Arena *arena, Diags *problems);

void manager_units_free(Manager *manager);

/* ---- for the methods (manager_methods.c) ---- */

extern const VarlinkInterface manager_interface;

/* Called when something has changed: answers who can be answered. */
void manager_notify_clients(Manager *manager);

/* Tells only those who want every change. */
void manager_notify_subscribers(Manager *manager);

/* Between two writes: lets those gates through whose instance is whole already. */
void manager_notify_gates(Manager *manager);

/* Ends all clients without an answer, when the daemon stops. */
void manager_drop_clients(Manager *manager);
