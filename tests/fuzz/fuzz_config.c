/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as configuration files, and the demand, plan, status and drop-ins that follow from them. 0x1E begins another
 * file, 0x1F one that extends the file before. */

#include "base/size.h"
#include "config/config.h"
#include "fuzz/fuzz.h"
#include "host/mounts.h"
#include "model/name_check.h"
#include "render/status_json.h"
#include "support/testing.h"
#include "units/dropin.h"
#include "units/mount_unit.h"

enum { FILES_MAX = 12 };

static const char ctl[] = "/usr/bin/hugeplanctl";

static ConfigFiles *split_files(Arena *arena, const uint8_t *data, size_t size) {
        ConfigFiles *files = ARENA_NEW(arena, ConfigFiles);
        const char *name = NULL;
        bool is_extension = false;
        unsigned n = 0;

        for (size_t start = 0, end; start <= size && files->n < FILES_MAX; start = end + 1) {
                for (end = start; end < size && data[end] != 0x1E && data[end] != 0x1F;)
                        end++;
                if (!is_extension) {
                        name = arena_printf(arena, "%02u-f%u.conf", n, n);
                        n++;
                }
                config_add_file(arena, files,
                                is_extension ? arena_printf(arena, "%s.d/%zu.conf", name, files->n)
                                             : name,
                                fuzz_text(arena, data + start, end - start), end - start);
                is_extension = end < size && data[end] == 0x1F;
        }
        return files;
}

static void check_problem(const Diag *problem, Arena *arena) {
        require(problem->id && problem->text);
        require(problem->severity != SEVERITY_ERROR || problem->remedy);
        require(strlen(diag_format(arena, problem)) > 0);
}

static void check_instance(const Config *config, size_t i) {
        const InstanceConfig *instance = &config->instances[i];

        require(instance->name && instance->file && instance->engine);
        require(i == 0 || strcmp(config->instances[i - 1].name, instance->name) < 0);
        require(!instance->unit || !name_check_unit(instance->unit));
        if (instance->refusal)
                return;
        require(!name_check_instance(instance->name));
        require(instance->n_page_sizes >= 1 && instance->n_page_sizes <= PAGE_SIZES_MAX);
        require(instance->priority <= PRIORITY_MAX);
        require(!instance->engine->reserves || instance->pages.n > 0 ||
                instance->n_node_memory > 0 || instance->memory_kind != MEMORY_UNSET);
}

/* Surplus pages in use become persistent ones without new memory. */
static uint64_t new_bytes(const Topology *topology, const PlanPool *pool) {
        const Pool *now = topology_pool(topology, pool->node, pool->page_size_bytes);
        uint64_t more = sub_floored(pool->to_pages, pool->from_pages);

        return mul_saturated(sub_floored(more, now->surplus_pages), pool->page_size_bytes);
}

/* Whether KEY and the path are a line of TEXT by themselves. */
static bool has_line(Arena *arena, const char *text, const char *key, const char *path) {
        return strstr(text, arena_printf(arena, "\n%s%s\n", key, path));
}

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; *text; text++)
                n += *text == '\n';
        return n;
}

/* The number of lines does not depend on values of the configuration, and systemd accepts the name. */
static void check_mounts(Arena *arena, Config *config, const Topology *topology) {
        const Accounts accounts = {};

        mount_check_owners(arena, config, &accounts);
        const MountUnits units = mount_units_make(arena, config, topology, &accounts);

        VEC_FOREACH(unit, &units) {
                const char *path = unit->instance->mount->path;
                const MountTable table = {};
                const MountSight sight = {.table = &table, .is_directory_used = true};

                require(strspn(unit->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789:_.\\-") == strlen(unit->name));
                require(strlen(unit->name) <= 255 && text_ends_with(unit->name, ".mount"));
                require(count_lines(unit->text) == 18 && !strpbrk(unit->text, "\r\v\f\x7f%"));
                require(has_line(arena, unit->text, "Where=", path));
                require(has_line(arena, unit->text, "AssertDirectoryNotEmpty=!", path));
                check_problem(mount_obstacle(arena, unit, &sight), arena);
        }
}

static void check_rest(Arena *arena, const Config *config) {
        Topology *topology = host_make(arena, "sizes 1G 2M\n"
                                              "node 0 total=16G free=15G cache=512M 2M=10/4/2\n"
                                              "node 2 total=8G free=7G 1G=2\n"
                                              "node 3\n"
                                              "possible 0-4\n"
                                              "thp madvise 64K=always 2M=inherit\n");
        Ledger *ledger = ledger_new(arena, "boot");
        const Plan *plan = plan_with(arena, config, topology, ledger, NULL);
        Diags problems = diags_in(arena);

        for (size_t i = 0; i < topology->n_nodes; i++) {
                uint64_t bytes = 0;

                for (size_t p = 0; p < plan->n_pools; p++)
                        if (plan->pools[p].node == topology->nodes[i].id)
                                bytes = add_saturated(bytes, new_bytes(topology, &plan->pools[p]));
                require(bytes <= plan_node_room_bytes(&config->host, &topology->nodes[i]));
        }
        const HostPlanInput host_input = {config, plan, topology, &(Accounts){}, 0};
        HostPlan host = host_plan_make(arena, &host_input, &problems);
        plan_record(arena, plan, ledger);
        char *saved = ledger_format(arena, ledger);
        const StatusInput input = {.config = config,
                                   .plan = plan,
                                   .topology = topology,
                                   .ledger = ledger,
                                   .phase = "idle"};
        json_t *status = status_to_json(status_judge(arena, &input), false);
        json_t *planned = plan_to_json(plan, &host, &config->problems);
        const char *lost;

        require(ledger_parse(arena, saved, "boot", &lost) && !lost);
        require(status && status_from_json(arena, status));
        require(planned != NULL);
        json_decref(status);
        json_decref(planned);
}

FUZZ(arena, data, size) {
        Config *config = config_parse(arena, split_files(arena, data, size));

        /* A refused file has an error, and an error refuses a file. */
        size_t n_refused = 0;

        VEC_FOREACH(problem, &config->problems.list)
                check_problem(problem, arena);
        for (size_t i = 0; i < config->n_instances; i++) {
                check_instance(config, i);
                n_refused += config->instances[i].refusal != NULL;
        }
        require(n_refused == 0 || diags_count(&config->problems, SEVERITY_ERROR) > 0);
        const DropinInput input = {config, ctl, true, SYSTEMD_MEMORY_THP};
        const Dropins dropins = dropins_make(arena, &input);

        VEC_FOREACH(dropin, &dropins) {
                require(!name_check_unit(dropin->unit));
                require(!strchr(dropin->unit, '/'));
                require(!dropin_odd_line(arena, dropin->text, ctl));
        }
        check_rest(arena, config);
        check_mounts(arena, config, host_make(arena, "sizes 1G 2M\nnode 0 total=16G free=15G\n"));
}
