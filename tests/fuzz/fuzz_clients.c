/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's methods with any parameters, in memory, with a fake server and a fake keeper. An input is a list of
 * actions, each of which begins with a byte:
 *
 *   'd' 'w' 'p' 'r' 'l' 'g'   a call of Describe, Wait, Plan, Reload, Release, Learn; JSON follows, up to a NUL
 *   'D' ...                   the same, with more than one reply wanted
 *   'x'                       the client of the oldest waiting call closes its connection
 *   '0' to '3' '8'            from now on the keeper lets gates wait, pass, be refused, be unknown, or be pending
 *   '4' to '7'                the last reload was rejected, refused, begun, applied
 *   'b'                       the keeper becomes busy, or idle
 *   'n' 'o' 'h'               a write is done; a round has ended; all pending messages are handled
 *   's'                       the last store succeeds, or fails
 *   'u'                       later callers are in the unit, or no longer
 *
 * Conditions: each call is answered once, or kept by an owner that is informed when the connection closes; replies are
 * UTF-8; the keeper is called with existing instances only; and after all clients have left no memory is left. */

#include "base/size.h"
#include "daemon/clients/client.h"
#include "fuzz/fuzz.h"
#include "model/model_root.h"
#include "support/testing.h"

#include <ctype.h>

enum { CALLS_MAX = 32, ACTIONS_MAX = 64 };

struct VarlinkCall {
        bool is_used, wants_more;
        VarlinkCallHandler closed, drained;
        void *closed_userdata, *drained_userdata;
};

struct Keeper {
        Arena *arena; /* of the whole stage, which is made once */
        const Config *config;
        Look *look;
        const Status *status;
        bool is_working;
        GateAnswer answer;
        KeeperReload reload;
};

typedef struct Stage {
        Kernel *kernel;
        Root *root;
        Keeper keeper;
        Manager manager;
        bool is_in_unit; /* whether callers are in the unit */
        StoreHandler on_stored;
        uint64_t n_stored;
        VarlinkCall calls[CALLS_MAX];
} Stage;

static Stage stage;

/* ---- calls: in place of ipc/varlink_call.c ---- */

/* Steals PARAMETERS. */
static void take_parameters(VarlinkCall *call, json_t *parameters) {
        char *text = parameters ? json_dumps(parameters, JSON_ENCODE_ANY) : NULL;

        require(call->is_used);
        require(!parameters || (json_is_object(parameters) && text));
        free(text);
        json_decref(parameters);
}

static void end_call(VarlinkCall *call, json_t *parameters) {
        take_parameters(call, parameters);
        *call = (VarlinkCall){};
}

void varlink_call_reply(VarlinkCall *call, json_t *parameters) {
        end_call(call, parameters);
}

char *varlink_text_new(json_t *parameters, bool is_last) {
        require(json_is_object(parameters));
        json_t *message = json_pack("{sb so}", "last", is_last, "parameters", parameters);
        char *text = json_dumps(message, JSON_COMPACT);

        json_decref(message);
        return text;
}

static json_t *read_text(const char *text, bool is_last) {
        json_t *message = json_loads(text, 0, NULL);
        json_t *parameters = json_incref(json_object_get(message, "parameters"));

        require(parameters && json_is_true(json_object_get(message, "last")) == is_last);
        json_decref(message);
        return parameters;
}

void varlink_call_reply_text(VarlinkCall *call, const char *text) {
        require(!call->wants_more);
        end_call(call, read_text(text, true));
}

int varlink_call_reply_text_continues(VarlinkCall *call, const char *text) {
        require(call->wants_more);
        take_parameters(call, read_text(text, false));
        return 0;
}

void varlink_call_error(VarlinkCall *call, const char *error, json_t *parameters) {
        require(strncmp(error, "org.", 4) == 0);
        end_call(call, parameters);
}

void varlink_call_error_invalid_parameter(VarlinkCall *call, const char *name) {
        require(name != NULL);
        end_call(call, NULL);
}

bool varlink_call_wants_more(const VarlinkCall *call) {
        return call->wants_more;
}

bool varlink_call_is_congested(const VarlinkCall *call) {
        return !call->is_used;
}

void varlink_call_set_closed_handler(VarlinkCall *call, VarlinkCallHandler function,
                                     void *userdata) {
        call->closed = function;
        call->closed_userdata = userdata;
}

void varlink_call_set_drained_handler(VarlinkCall *call, VarlinkCallHandler function,
                                      void *userdata) {
        call->drained = function;
        call->drained_userdata = userdata;
}

void varlink_call_keep_place(VarlinkCall *call) {
        require(call->is_used);
}

uid_t varlink_call_peer_uid(const VarlinkCall *call) {
        require(call->is_used);
        return 26;
}

pid_t varlink_call_peer_pid(const VarlinkCall *call UNUSED) {
        return stage.is_in_unit ? (pid_t) kernel_pid(kernel_self(stage.kernel)) : 1;
}

/* ---- the keeper ---- */

const Config *keeper_config(const Keeper *keeper) {
        return keeper->config;
}

const Look *keeper_look(const Keeper *keeper) {
        return keeper->look;
}

Look *keeper_look_ahead(const Keeper *keeper, Arena *arena UNUSED, Diags *falls UNUSED) {
        return keeper->look;
}

bool keeper_is_working(const Keeper *keeper) {
        return keeper->is_working;
}

bool keeper_is_held_back(const Keeper *keeper UNUSED) {
        return false;
}

bool keeper_was_refused(const Keeper *keeper, const char *instance, const char *run) {
        require(config_find(keeper->config, instance) && *run);
        return false;
}

void keeper_begin_gate(Keeper *keeper, Gate *gate) {
        require(config_find(keeper->config, gate->instance) && gate->run);
}

void keeper_end_gates(Keeper *keeper UNUSED, GateView *view) {
        *view = (GateView){};
}

GateAnswer keeper_try_gate(Keeper *keeper, GateView *view, Gate *gate, bool may_try UNUSED,
                           StatusInstance *ret_instance, Reason *ret_reason) {
        require(config_find(keeper->config, gate->instance) && gate->run);
        require(!gate->is_starting || *gate->run);
        view->status = keeper->status;
        *ret_instance = *status_find(keeper->status, gate->instance);
        *ret_reason = ret_instance->reason;
        if (!ret_reason->text)
                *ret_reason = (Reason){REASON_MEMORY_LIMIT, "too little", NULL};
        return keeper->answer;
}

void keeper_abandon_gate(Keeper *keeper UNUSED, const Gate *gate) {
        require(gate->has_begun);
}

void keeper_time_out_gate(Keeper *keeper, const Gate *gate, const Reason *reason) {
        require(config_find(keeper->config, gate->instance) && reason->text);
}

KeeperReloadResult keeper_reload_result(const Keeper *keeper) {
        return (KeeperReloadResult){.state = keeper->reload, .problems = diags_in(keeper->arena)};
}

PoolChanges keeper_pool_changes(const Keeper *keeper UNUSED, Arena *arena UNUSED) {
        return (PoolChanges){};
}

void keeper_release(Keeper *keeper, const char *instance, uint64_t now_usec UNUSED) {
        require(config_find(keeper->config, instance) != NULL);
}

bool keeper_is_unstored(const Keeper *keeper UNUSED, const char *instance UNUSED,
                        const PageCounts *pages) {
        require(pages->n > 0);
        return false;
}

/* Each page size once, with at least one page, and without overflow. */
void keeper_grow(Keeper *keeper UNUSED, const InstanceConfig *instance, const PageCounts *pages,
                 uint64_t now_usec UNUSED) {
        uint64_t bytes;

        require(instance->memory_kind == MEMORY_AUTO && pages->n > 0);
        VEC_FOREACH(count, pages) {
                require(count->page_size_bytes == 2 * MIB && count->pages > 0);
                require(!__builtin_mul_overflow(count->pages, count->page_size_bytes, &bytes));
        }
        require(pages->n == 1);
}

/* ---- the manager ---- */

const Config *manager_files(Manager *manager) {
        return manager->keeper->config;
}

/* The stored text has the same pages. */
uint64_t store_learned(Store *store UNUSED, const InstanceConfig *instance, const Learned *learned,
                       bool is_preference UNUSED, StoreHandler handler, void *userdata UNUSED) {
        require(instance_is_learning(instance) && learned->pages.n == 1);
        if (handler)
                stage.on_stored = handler;
        return ++stage.n_stored;
}

Status *manager_judge(Manager *manager, Arena *arena) {
        Status *status = ARENA_NEW(arena, Status);

        *status = *manager->keeper->status;
        return status;
}

Status *manager_describe(Manager *manager, Arena *arena) {
        return manager_judge(manager, arena);
}

bool manager_is_retrying(const Manager *manager) {
        return loop_is_set(&manager->rounds.retry);
}

void manager_work(Manager *manager UNUSED) {
}

void manager_begin_round(Manager *manager, KeeperCause cause UNUSED) {
        require(!manager->keeper->is_working);
}

void manager_reload(Manager *manager UNUSED, bool is_forced UNUSED) {
}

void units_follow_host(Units *units) {
        require(!units->reread);
}

void units_refresh(Units *units UNUSED) {
}

void watch_expect_repair(Watch *watch UNUSED) {
}

void boot_note_caller(Boot *boot UNUSED, pid_t pid UNUSED) {
}

void watch_forget_unit(Watch *watch UNUSED, const char *unit) {
        require(unit != NULL);
}

void watch_note_start(Watch *watch UNUSED) {
}

void watch_refresh_units(Watch *watch UNUSED) {
}

/* ---- the stage ---- */

/* A host without huge pages, with an instance that waits, one with Memory=auto, and one that is too large. */
static void begin_keeper(Keeper *keeper) {
        keeper->arena = arena_new();
        keeper->config = config_line(
                keeper->arena,
                "20-pg Pages=40 Unit=pg.service; 30-my Engine=mysql Memory=auto; 40-big "
                "Pages=4000 WaitTimeout=1s");
        const LookInput input = {.root = stage.root, .config = keeper->config};

        keeper->look = look_make(keeper->arena, &input);
        const StatusInput status = look_status_input(keeper->look, keeper->look->plan);

        keeper->status = status_judge(keeper->arena, &status);
        require(keeper->status->n_instances == 3);
}

static void begin_stage(void) {
        if (stage.kernel)
                return;
        stage.kernel = kernel_new("release 6.1.176\nsizes 2M\nnode 0 total=1G free=900M\n");
        kernel_group_make(stage.kernel, "/system.slice/pg.service");
        require(kernel_move(kernel_self(stage.kernel), "/system.slice/pg.service") == 0);
        stage.root = model_root_new(stage.kernel);
        begin_keeper(&stage.keeper);
        stage.manager =
                (Manager){.root = stage.root, .listener = clients_notify, .keeper = &stage.keeper};
        require(loop_new(&stage.manager.loop) >= 0);
}

static void hang_up(VarlinkCall *call) {
        require(call->closed != NULL);
        call->closed(call, call->closed_userdata);
        *call = (VarlinkCall){};
}

/* ---- actions ---- */

static const VarlinkMethod *find_method(char letter) {
        for (size_t i = 0; i < manager_interface.n_methods; i++)
                if (tolower(letter) == tolower("DWPRLG"[i]))
                        return &manager_interface.methods[i];
        return NULL;
}

static VarlinkCall *free_call(void) {
        for (size_t i = 0; i < CALLS_MAX; i++)
                if (!stage.calls[i].is_used)
                        return &stage.calls[i];
        return NULL;
}

/* As the server checks parameters. */
static void call_method(const VarlinkMethod *method, bool wants_more, const char *bytes,
                        size_t length) {
        json_t *parameters = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, NULL);
        VarlinkCall *call = free_call();

        if (call && json_is_object(parameters) &&
            !varlink_parameters_find_fault(method->parameters, parameters)) {
                *call = (VarlinkCall){.is_used = true, .wants_more = wants_more};
                method->handler(call, parameters, &stage.manager);
                require(!call->is_used || call->closed);
        }
        json_decref(parameters);
}

static void hang_up_oldest(void) {
        for (size_t i = 0; i < CALLS_MAX; i++)
                if (stage.calls[i].is_used) {
                        hang_up(&stage.calls[i]);
                        return;
                }
}

/* Returns the number of bytes of the action. */
static size_t perform(const uint8_t *data, size_t size) {
        const VarlinkMethod *method = find_method((char) data[0]);
        const uint8_t *nul = memchr(data, '\0', size);
        size_t length = nul ? (size_t) (nul - data) : size;

        if (!method || length == 0) {
                char action = (char) data[0];
                if (action >= '0' && action <= '3')
                        stage.keeper.answer = (GateAnswer) (action - '0');
                else if (action >= '4' && action <= '7')
                        stage.keeper.reload = (KeeperReload) (action - '4');
                else if (action == '8')
                        stage.keeper.answer = GATE_PENDING;
                else if (action == 'b')
                        stage.keeper.is_working = !stage.keeper.is_working;
                else if (action == 'n')
                        clients_notify(&stage.manager, MANAGER_WRITTEN);
                else if (action == 'o')
                        clients_notify(&stage.manager, MANAGER_SETTLED);
                else if (action == 'h')
                        clients_notify(&stage.manager, MANAGER_DUE);
                else if (action == 'u')
                        stage.is_in_unit = !stage.is_in_unit;
                else if (action == 'x')
                        hang_up_oldest();
                else if (action == 's' && stage.on_stored)
                        stage.on_stored(&stage.manager, stage.n_stored,
                                        stage.n_stored % 2 ? 0 : -ENOSPC);
                return 1;
        }
        call_method(method, isupper(data[0]), (const char *) data + 1, length - 1);
        return length + (nul != NULL);
}

FUZZ(arena, data, size) {
        begin_stage();
        for (size_t at = 0, n = 0; at < size && n < ACTIONS_MAX; n++)
                at += perform(data + at, size - at);
        /* All clients leave, so that the next input begins like the first one. */
        for (size_t i = 0; i < CALLS_MAX; i++)
                if (stage.calls[i].is_used)
                        hang_up(&stage.calls[i]);
        require(!stage.manager.clients.first);
        loop_unset(&stage.manager.clients.due);
        stage.manager.clients.beliefs_arena = arena_free(stage.manager.clients.beliefs_arena);
        stage.manager.clients.beliefs.items = NULL;
        stage.manager.clients.beliefs.n = stage.manager.clients.beliefs.capacity = 0;
        stage.is_in_unit = stage.keeper.is_working = false;
        stage.keeper.answer = GATE_WAIT;
        stage.keeper.reload = KEEPER_RELOAD_REJECTED;
}
