/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host at its boot, and the files in /etc/hugeplan.d. */
#include "history/history.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/unit_policy.h"
#include "host/config_load.h"

/* ---- the host ---- */

/* Kernels on each side of every change that matters here. */
static const char *const releases[] = {"5.10.0",  "6.1.176",  "6.6.60",  "6.8.12",
                                       "6.12.90", "6.12.117", "6.18.44", "7.2.12"};

static const char *random_host(History *history) {
        Text text = text_in(history->arena);
        bool has_large = chance(history, history->options->changes_host ? 60 : 10);

        history->n_nodes = (unsigned) draw(history, 1, NODES);
        history->n_sizes = has_large ? 2 : 1;
        text_printf(&text, "release %s\nsizes%s 2M\n",
                    releases[draw(history, 0, ARRAY_LEN(releases) - 1)], has_large ? " 1G" : "");
        for (unsigned node = 0; node < history->n_nodes; node++) {
                uint64_t total = draw(history, 160, 640) + (has_large ? 4096 : 0);
                uint64_t free_mib = total * draw(history, 60, 95) / 100;

                text_printf(&text, "node %u total=%" PRIu64 "M free=%" PRIu64 "M", node, total,
                            free_mib);
                if (chance(history, 30))
                        text_printf(&text, " cache=%" PRIu64 "M", (total - free_mib) / 2);
                if (chance(history, 20))
                        text_printf(&text, " scattered=%" PRIu64 "M", free_mib / 3);
                if (node > 0 && chance(history, 10))
                        text_add(&text, " nocpu");
                text_add(&text, "\n");
        }
        return text_string(&text);
}

/* A group with processes cannot enable the hugetlb controller for the groups below it. */
static void make_groups(History *history) {
        kernel_group_make(history->kernel, "/system.slice");
        if (chance(history, 15)) {
                trace(history,
                      "a process is in system.slice itself: the hugetlb controller counts for no unit");
                kernel_spawn(history->kernel,
                             &(KernelSpawn){.name = "other", .group = "/system.slice"});
        }
        if (history->options->changes_cpusets) {
                kernel_group_write(history->kernel, "/", "cgroup.subtree_control", "+cpuset");
                kernel_group_write(history->kernel, "/system.slice", "cgroup.subtree_control",
                                   "+cpuset");
        }
        /* A cpuset binds its processes, whatever their memory policy. */
        if (!chance(history, 20))
                return;
        unsigned node = (unsigned) draw(history, 0, history->n_nodes - 1);

        history->vm_nodes = UINT64_C(1) << node;
        kernel_group_make(history->kernel, "/machine.slice/vm");
        kernel_group_write(history->kernel, "/", "cgroup.subtree_control", "+cpuset");
        kernel_group_write(history->kernel, "/machine.slice", "cgroup.subtree_control", "+cpuset");
        kernel_group_write(history->kernel, "/machine.slice/vm", "cpuset.mems",
                           arena_printf(history->arena, "%u", node));
}

static void make_existing_pages(History *history) {
        for (unsigned node = 0; node < history->n_nodes; node++)
                if (chance(history, 15))
                        kernel_set_pool(history->kernel, NULL, (int) node, 2 * MIB,
                                        draw(history, 1, 20));
        /* Large existing pages are demoted when memory is short. */
        for (unsigned node = 0; node < history->n_nodes && history->n_sizes == 2; node++)
                if (chance(history, 50))
                        kernel_set_pool(history->kernel, NULL, (int) node, GIB,
                                        draw(history, 1, 4));
        if (chance(history, 15))
                kernel_set_overcommit(history->kernel, 2 * MIB, draw(history, 1, 40));
        PoolCounts counts = pool_counts(history);

        memcpy(history->existing, counts.persistent, sizeof(history->existing));
}

/* ---- instances ---- */

static const char *split_text(const History *history, const Described *described) {
        Text text = text_in(history->arena);

        for (unsigned node = 0; node < NODES; node++)
                if (described->split[node] > 0)
                        text_printf(&text, "%s%u:%" PRIu64 "M", text.length > 0 ? " " : "", node,
                                    described->split[node] * 2);
        return text_string(&text);
}

static const char *described_text(const History *history, const Described *described) {
        Text text = text_in(history->arena);

        text_add(&text, "[Instance]\n");
        if (described->is_broken)
                text_add(&text, "Pages=many\n");
        else if (described->is_auto)
                text_add(&text, "Engine=postgresql\nMemory=auto\n");
        else if (described->is_list)
                text_printf(&text, "Pages=1G:%" PRIu64 " 2M:%" PRIu64 "\nPageSize=1G,2M\n",
                            described->pages, described->pages * 512);
        else if (described->is_split)
                text_printf(&text, "NodeMemory=%s\n", split_text(history, described));
        else
                text_printf(&text, "Pages=%" PRIu64 "\n", described->pages);
        if (described->page_bytes != 2 * MIB && !described->is_list)
                text_add(&text, "PageSize=1G\n");
        if (described->unit >= 0)
                text_printf(&text, "Unit=%s\n", history->units[described->unit].name);
        if (described->nodes && !described->is_split)
                text_printf(&text, "Nodes=%s\n",
                            id_set_format(history->arena, &(IdSet){.words = {described->nodes}}));
        if (described->placement && !described->is_split)
                text_printf(&text, "Placement=%s\n", described->placement);
        if (described->is_degradable)
                text_add(&text, "Shortage=degrade\n");
        if (described->priority != 50)
                text_printf(&text, "Priority=%u\n", described->priority);
        if (described->isolate)
                text_printf(&text, "Isolate=%s\n", described->isolate);
        if (described->has_mount)
                text_printf(&text, "User=0\nGroup=0\nMount=/mnt/%s%s\n", described->name,
                            described->mount_min > 0
                                    ? arena_printf(history->arena, " min_size=%" PRIu64,
                                                   described->mount_min * described->page_bytes)
                                    : "");
        return text_string(&text);
}

static const char *path_of(const History *history, const char *name) {
        return arena_printf(history->arena, "/etc/hugeplan.d/%s.conf", name);
}

/* The write at which the daemon is to be killed may be this one. The file is then written after its restart. */
static void write_file(History *history, const char *path, const char *text) {
        if (root_write_file(history->root, path, text) == 0)
                return;
        daemon_revive(history);
        root_write_file(history->root, path, text);
}

static void write_described(History *history, Described *described) {
        described->mount_min = MIN(described->mount_min, described->pages);
        const char *text = described_text(history, described);

        mount_outdate(history, described->name);

        write_file(history, path_of(history, described->name), text);
        trace(history, "      %s.conf: %s", described->name,
              text_excerpt(history->arena, text + strlen("[Instance]\n"), 200));
}

static void remove_described(History *history, Described *described) {
        mount_outdate(history, described->name);
        if (root_remove(history->root, path_of(history, described->name)) < 0) {
                daemon_revive(history);
                root_remove(history->root, path_of(history, described->name));
        }
        trace(history, "      %s.conf is removed", described->name);
        described->name = NULL;
}

static void draw_placement(History *history, Described *described) {
        static const char *const placements[] = {NULL,   "spread",     "bind", "bind",
                                                 "bind", "interleave", "pack"};

        described->nodes = 0;
        if (chance(history, 65))
                for (unsigned i = 0; i <= draw(history, 0, 1); i++)
                        described->nodes |= 1u << draw(history, 0, history->n_nodes - 1);
        described->placement = placements[draw(history, 0, ARRAY_LEN(placements) - 1)];
        if (text_equals(described->placement, "bind") && !described->nodes)
                described->nodes = 1u << draw(history, 0, history->n_nodes - 1);
        described->is_split = described->page_bytes == 2 * MIB && chance(history, 8);
        memset(described->split, 0, sizeof(described->split));
        if (!described->is_split)
                return;
        described->pages = 0;
        for (unsigned i = 0; i < 2; i++) {
                unsigned node = (unsigned) draw(history, 0, history->n_nodes - 1);

                described->split[node] = draw(history, 1, 25);
        }
        for (unsigned node = 0; node < NODES; node++)
                described->pages += described->split[node];
}

static void draw_size(History *history, Described *described) {
        bool is_large = history->n_sizes == 2 && chance(history, 30);

        described->page_bytes = is_large ? GIB : 2 * MIB;
        described->pages = is_large ? draw(history, 1, 2) : draw(history, 1, 70);
}

static void add_described(History *history, Described *described) {
        static const char *const isolates[] = {NULL, NULL, "no", "yes"};

        *described = (Described){
                .name = arena_printf(history->arena, "i%u", history->n_named++),
                .unit = chance(history, 85) ? (int) draw(history, 0, UNITS - 1) : -1,
                .is_degradable = chance(history, 20),
                .priority = chance(history, 30) ? (unsigned) draw(history, 0, 100) : 50,
        };
        if (described->unit >= 0)
                described->isolate = isolates[draw(history, 0, ARRAY_LEN(isolates) - 1)];
        draw_size(history, described);
        draw_placement(history, described);
        if (history->options->has_mounts && described->unit >= 0 && chance(history, 60)) {
                described->has_mount = true;
                described->mount_min = chance(history, 50) ? draw(history, 1, described->pages) : 0;
        }
        described->is_auto = history->options->learns && described->unit >= 0 &&
                             !described->is_split && chance(history, 70);
        described->is_list = described->page_bytes == GIB && history->options->changes_host &&
                             chance(history, 70);
        write_described(history, described);
}

static Described *random_described(History *history) {
        Described *described = &history->described[draw(history, 0, DESCRIBED - 1)];

        return described->name ? described : NULL;
}

static Described *unused_described(History *history) {
        return ARRAY_FIND(described, history->described, DESCRIBED, !described->name);
}

/* ---- systemd ---- */

static void load_unit(History *history, Unit *unit, const Config *config) {
        IdSet there = {.words = {kernel_memory_nodes(history->kernel)}};

        unit->policy = unit_policy(config, unit->name);
        /* The generator leaves out a policy none of whose nodes has memory. */
        if (!id_set_meets(&unit->policy.nodes, &there))
                unit->policy.kind = MEMORY_POLICY_ANY;
        unit->policy.nodes = id_set_common(&unit->policy.nodes, &there);
        unit->n_gates = 0;
        for (size_t i = 0; i < config->n_instances; i++)
                if (text_equals(config->instances[i].unit, unit->name))
                        unit->gates[unit->n_gates++] =
                                arena_strdup(history->arena, config->instances[i].name);
}

void systemd_reload(History *history) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Config *config = config_load(history->root, arena, NULL);

        for (size_t i = 0; i < UNITS; i++)
                load_unit(history, &history->units[i], config);
}

/* ---- edits ---- */

static void change_host(History *history) {
        Text text = text_in(history->arena);

        text_printf(&text, "[Host]\nKeepFree=%" PRIu64 "M\nReserveTimeout=1min\n",
                    draw(history, 64, 200));
        if (chance(history, 30))
                text_add(&text, "ExistingPages=keep\n");
        if (chance(history, 20))
                text_add(&text, "OnDrift=report\n");
        if (chance(history, 30))
                text_add(&text, "Reclaim=no\n");
        if (chance(history, 30))
                text_add(&text, "Compaction=no\n");
        write_file(history, "/etc/hugeplan.d/00.conf", text_string(&text));
        trace(history, "      00.conf: %s", text_excerpt(history->arena, text_string(&text), 200));
}

void world_edit(History *history) {
        Described *described = random_described(history), *place = unused_described(history);
        unsigned what = (unsigned) draw(history, 0, 99);

        if (history->options->changes_host && chance(history, 30)) {
                change_host(history);
        } else if (!described || what < 20) {
                if (place)
                        add_described(history, place);
        } else if (what < 35) {
                remove_described(history, described);
        } else if (what < 42) {
                Described renamed = *described;

                remove_described(history, described);
                *described = renamed;
                described->name = arena_printf(history->arena, "i%u", history->n_named++);
                write_described(history, described);
        } else {
                if (what < 65 && !described->is_split) {
                        draw_size(history, described);
                        described->is_list = described->is_list && described->page_bytes == GIB;
                } else if (what < 90)
                        draw_placement(history, described);
                else if (what < 95)
                        described->is_degradable = !described->is_degradable;
                else if (what < 97)
                        described->unit = (int) draw(history, 0, UNITS - 1);
                else
                        described->is_broken = !described->is_broken;
                write_described(history, described);
        }
        history->is_edited = true;
        if (chance(history, 92)) {
                trace(history, "      systemctl daemon-reload");
                systemd_reload(history);
        }
}

bool world_swap(History *history) {
        Described *one = random_described(history), *other = random_described(history);

        if (!one || !other || one->unit == other->unit)
                return false;
        int unit = one->unit;

        one->unit = other->unit;
        other->unit = unit;
        write_described(history, one);
        write_described(history, other);
        history->is_edited = true;
        systemd_reload(history);
        return true;
}

/* ---- start ---- */

static void write_host_file(History *history) {
        Text text = text_in(history->arena);

        text_add(&text, "[Host]\nKeepFree=64M\nReserveTimeout=1min\n");
        if (chance(history, 10))
                text_add(&text, "ExistingPages=keep\n");
        if (chance(history, 10))
                text_add(&text, "OnDrift=report\n");
        root_write_file(history->root, "/etc/hugeplan.d/00.conf", text_string(&text));
        trace(history, "00.conf: %s", text_excerpt(history->arena, text_string(&text), 200));
}

static void make_units(History *history) {
        for (size_t i = 0; i < UNITS; i++) {
                Unit *unit = &history->units[i];

                unit->name = arena_printf(history->arena, "u%zu.service", i);
                unit->group = arena_printf(history->arena, "/system.slice/%s", unit->name);
                unit->is_private = chance(history, 30);
        }
}

void world_make(History *history) {
        const char *host = random_host(history);

        trace(history, "seed %" PRIu64 "\n%s", history->options->seed, host);
        history->kernel = kernel_new(host);
        history->root = model_root_new(history->kernel);
        make_groups(history);
        make_existing_pages(history);
        write_host_file(history);
        make_units(history);
        for (uint64_t n = draw(history, 1, 3); n > 0; n--)
                add_described(history, unused_described(history));
        systemd_reload(history);
        trace_pools(history);
}
