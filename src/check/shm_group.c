/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/shm_group.h"

#include "base/text.h"
#include "config/instance_limits.h"
#include "model/names.h"
#include "model/problem.h"
#include "plan/limits.h"

uint64_t shm_group_replaced(const ShmGroupInput *input) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Account *own = account_find_group(arena, input->accounts, NAME_HUGETLB_GROUP);
        uint64_t now = input->topology->limits.shm_group;

        return own && config_needs_group(input->config) && now != UINT64_MAX && now != own->id ? now
                                                                                               : 0;
}

/* As a login has it: without what a unit adds. */
static bool is_member(Arena *arena, const Accounts *accounts, const char *name, uint64_t gid) {
        const Account *user = account_find_user(arena, accounts, name);

        if (user && user->group_id == gid)
                return true;
        return VEC_ANY(group, &accounts->groups,
                       group->id == gid &&
                               account_has_member(arena, group, user ? user->name : name));
}

/* "oracle,db2", each once: owners of instances that need the group, have the old one and not ours. */
static const char *find_losers(Arena *arena, const ShmGroupInput *input, const char *separator) {
        uint64_t replaced = shm_group_replaced(input),
                 own = account_find_group(arena, input->accounts, NAME_HUGETLB_GROUP)->id;
        Text names = text_in(arena);
        SourceNames known = {};

        for (size_t i = 0; i < input->facts->n_instances; i++) {
                const char *name = input->facts->instances[i].owner.name;

                if (!name || source_names_have(&known, name) ||
                    !instance_needs_group(&input->config->instances[i]) ||
                    !is_member(arena, input->accounts, name, replaced) ||
                    is_member(arena, input->accounts, name, own))
                        continue;
                text_printf(&names, "%s%s", known.n > 0 ? separator : "", name);
                *vec_push(arena, &known) = name;
        }
        return names.string;
}

void shm_group_judge(Arena *arena, const ShmGroupInput *input, Diags *problems) {
        uint64_t replaced = shm_group_replaced(input);

        if (replaced == 0)
                return;
        const char *losers = find_losers(arena, input, ", "),
                   *rest = find_losers(arena, input, " ");
        Text remedy = text_in(arena);
        const SettingSource *source =
                setting_source_for_path(input->setting_sources, PATH_HUGETLB_SHM_GROUP,
                                        arena_printf(arena, "%" PRIu64, replaced));

        for (const char *name; rest && (name = text_next_word(arena, &rest, " "));)
                text_printf(&remedy, "usermod -aG " NAME_HUGETLB_GROUP " %s; ", name);
        if (!losers)
                text_add(&remedy, "make its members members of '" NAME_HUGETLB_GROUP
                                  "', or describe their database to hugeplan; ");
        text_add(&remedy, source ? "and delete the line, or it comes back"
                                 : "and whatever sets it must no longer do so");
        diags_tell(
                problems,
                (Diag){.severity = losers ? SEVERITY_ERROR : SEVERITY_WARNING,
                       .id = problem_id(PROBLEM_SHM_GROUP_REPLACED),
                       .file = source ? source->file : PATH_HUGETLB_SHM_GROUP,
                       .line = source ? source->line : 0,
                       .key = source ? source->key : NULL,
                       .remedy = remedy.string},
                "vm.hugetlb_shm_group can name but one group: it is %s, and will be '" NAME_HUGETLB_GROUP
                "'%s%s%s",
                limits_group_name(arena, input->accounts, replaced),
                losers ? ", to which the units are added. "
                       : "; who was let in by it gets no huge pages any more",
                losers ? losers : "",
                losers ? " then has no huge pages for a database started by hand (ORA-27125)" : "");
}
