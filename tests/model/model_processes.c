/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of processes, and lists of what they have. Formats after fs/proc/{array,task_mmu}.c, ipc/shm.c,
 * fs/hugetlbfs/inode.c. */
#include "model/model_attributes.h"

#include "base/id_set.h"
#include "base/text.h"
#include "model/names.h"

enum { FIRST_MINOR = 0x10, MOUNT_MINOR = 0x30 };

static uint64_t mapped_bytes(const KernelProcess *process) {
        uint64_t bytes = 0;

        VEC_FOREACH(mapping, &process->mappings)
                for (uint64_t i = 0; i < (*mapping)->n; i++)
                        bytes += (*mapping)->pages[i] ? (*mapping)->size->bytes : 0;
        return bytes;
}

char *read_status(const Where *where) {
        const KernelProcess *process = where->process;

        return arena_printf(
                where->arena,
                "Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%" PRIu64
                "\nNgid:\t0\nPid:\t%" PRIu64 "\nPPid:\t%" PRIu64
                "\nTracerPid:\t0\nHugetlbPages:\t%8" PRIu64 " kB\nMems_allowed_list:\t%s\n",
                process->name, process->pid, process->pid, process->parent_pid,
                mapped_bytes(process) / KIB,
                id_set_format(where->arena, &(IdSet){.words = {process_mems(process)}}));
}

char *read_cgroup(const Where *where) {
        const char *path = where->process->group->path;

        return arena_printf(where->arena, "0::%s\n", *path ? path : "/");
}

static char *file_name(Arena *arena, const KernelSegment *segment) {
        if (segment->mount)
                return arena_printf(arena, "%s/%s%s", segment->mount->path, segment->name,
                                    segment->is_linked ? "" : " (deleted)");
        return arena_strdup(arena, segment->is_sysv ? "/SYSV00000000 (deleted)"
                                                    : "/anon_hugepage (deleted)");
}

char *read_maps(const Where *where) {
        Text text = text_in(where->arena);

        VEC_FOREACH(item, &where->process->mappings) {
                const KernelMapping *mapping = *item;

                if (mapping->is_gone)
                        continue;
                char *line = arena_printf(
                        where->arena,
                        "%08" PRIx64 "-%08" PRIx64 " rw-%c 00000000 00:%02x %" PRIu64 " ",
                        mapping->address, mapping->address + mapping->n * mapping->size->bytes,
                        mapping->is_private ? 'p' : 's',
                        (mapping->segment->mount ? MOUNT_MINOR + mapping->segment->mount->id
                                                 : FIRST_MINOR + mapping->segment->size->index),
                        mapping->segment->id);

                text_printf(&text, "%-73s%s\n", line, file_name(where->arena, mapping->segment));
        }
        return arena_strdup(where->arena, text_string(&text));
}

/* mpol_to_str() */
static char *policy_text(Arena *arena, bool has_policy, KernelPolicy policy) {
        static const char *const names[] = {
                [KERNEL_POLICY_BIND] = "bind",
                [KERNEL_POLICY_INTERLEAVE] = "interleave",
                [KERNEL_POLICY_PREFERRED] = "prefer",
        };

        if (!has_policy)
                return arena_strdup(arena, "default");
        return arena_printf(arena, "%s:%s", names[policy.mode],
                            id_set_format(arena, &(IdSet){.words = {policy.nodes}}));
}

/* Only what stands in its own page tables. */
static void add_numa_counts(Text *text, const KernelMapping *mapping) {
        uint64_t n = 0, n_on[KERNEL_NODES_MAX] = {};
        unsigned most = 0;

        for (uint64_t i = 0; i < mapping->n; i++) {
                const Page *page = mapping->pages[i];

                if (!page)
                        continue;
                n++;
                n_on[page->node]++;
                most = MAX(most, page->n_mappings);
        }
        if (n == 0)
                return;
        if (mapping->is_private)
                text_printf(text, " anon=%" PRIu64, n);
        text_printf(text, " dirty=%" PRIu64, n);
        if (most > 1)
                text_printf(text, " mapmax=%u", most);
        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                if (n_on[node] > 0)
                        text_printf(text, " N%u=%" PRIu64, node, n_on[node]);
        text_printf(text, " kernelpagesize_kB=%" PRIu64, mapping->size->bytes / KIB);
}

static char *escape_blanks(Arena *arena, const char *name) {
        Text text = text_in(arena);

        for (; *name; name++)
                if (*name == ' ')
                        text_add(&text, "\\040");
                else
                        text_add_n(&text, name, 1);
        return arena_strdup(arena, text_string(&text));
}

char *read_numa_maps(const Where *where) {
        Text text = text_in(where->arena);

        VEC_FOREACH(item, &where->process->mappings) {
                const KernelMapping *mapping = *item;
                const KernelProcess *process = mapping->process;

                if (mapping->is_gone)
                        continue;
                text_printf(&text, "%08" PRIx64 " %s file=%s huge", mapping->address,
                            mapping->has_policy ? policy_text(where->arena, true, mapping->policy)
                                                : policy_text(where->arena, process->has_policy,
                                                              process->policy),
                            escape_blanks(where->arena, file_name(where->arena, mapping->segment)));
                add_numa_counts(&text, mapping);
                text_add(&text, "\n");
        }
        return arena_strdup(where->arena, text_string(&text));
}

char *read_smaps_rollup(const Where *where) {
        uint64_t shared = 0, private = 0;

        VEC_FOREACH(mapping, &where->process->mappings)
                for (uint64_t i = 0; i < (*mapping)->n; i++) {
                        const Page *page = (*mapping)->pages[i];

                        if (page && page->n_mappings > 1)
                                shared += page->size->bytes;
                        else if (page)
                        private += page->size->bytes;
                }
        return arena_printf(where->arena,
                            "100000000000-7fff00000000 ---p 00000000 00:00 0    [rollup]\n"
                            "Rss:                   0 kB\nShared_Hugetlb: %8" PRIu64
                            " kB\nPrivate_Hugetlb: %7" PRIu64 " kB\n",
                            shared / KIB, private / KIB);
}

/* sysvipc_shm_proc_show() */
char *read_sysv(const Where *where) {
        Text text = text_in(where->arena);

        text_add(
                &text,
                "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  "
                "cuid  cgid      atime      dtime      ctime                   rss                  "
                "swap\n");
        VEC_FOREACH(item, &where->kernel->segments) {
                const KernelSegment *segment = *item;
                uint64_t resident = 0;

                if (!segment->is_sysv || segment->is_gone)
                        continue;
                for (uint64_t i = 0; i < segment->n; i++)
                        resident += segment->pages[i] ? segment->size->bytes : 0;
                text_printf(
                        &text,
                        "%10d %10" PRIu64 "  1600 %21" PRIu64 " %5" PRIu64 " %5" PRIu64
                        "  %5u     0     0     0     0          0          0          0 %21" PRIu64
                        " %21d\n",
                        0, segment->id, segment->n * segment->size->bytes, segment->creator_pid,
                        segment->creator_pid, segment->n_mappings, resident, 0);
        }
        return text.string;
}

/* hugetlbfs_show_options() */
static void add_options(Text *text, const KernelMount *mount) {
        text_printf(text, "rw,pagesize=%" PRIu64 "M", mount->size->bytes / MIB);
        if (mount->max != UINT64_MAX)
                text_printf(text, ",size=%" PRIu64, mount->max * mount->size->bytes);
        if (mount->min != UINT64_MAX)
                text_printf(text, ",min_size=%" PRIu64, mount->min * mount->size->bytes);
}

char *read_mountinfo(const Where *where) {
        Text text = text_in(where->arena);

        text_add(&text, "22 1 254:0 / / rw,relatime - ext4 /dev/vda1 rw\n"
                        "23 22 0:5 / " PATH_CGROUP " rw,nosuid,nodev,noexec,relatime shared:1 - "
                        "cgroup2 cgroup2 rw\n");
        VEC_FOREACH(mount, &where->kernel->mounts) {
                if (!(*mount)->is_mounted)
                        continue;
                text_printf(&text, "%u 22 0:%u / %s rw,relatime shared:%u - hugetlbfs none ",
                            MOUNT_MINOR + (*mount)->id, MOUNT_MINOR + (*mount)->id,
                            escape_blanks(where->arena, (*mount)->path), 2 + (*mount)->id);
                add_options(&text, *mount);
                text_add(&text, "\n");
        }
        return text.string;
}

char *read_mounts(const Where *where) {
        Text text = text_in(where->arena);

        text_add(&text, "/dev/vda1 / ext4 rw,relatime 0 0\ncgroup2 " PATH_CGROUP
                        " cgroup2 rw,nosuid,nodev,noexec,relatime 0 0\n");
        VEC_FOREACH(mount, &where->kernel->mounts) {
                if (!(*mount)->is_mounted)
                        continue;
                text_printf(&text, "none %s hugetlbfs ",
                            escape_blanks(where->arena, (*mount)->path));
                add_options(&text, *mount);
                text_add(&text, " 0 0\n");
        }
        return text.string;
}
