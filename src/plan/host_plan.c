/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/host_plan.h"

#include "base/size.h"
#include "base/text.h"
#include "config/config.h"
#include "model/names.h"
#include "model/problem.h"

/* ---- the kernel's limits ---- */

static void add_write(Arena *arena, HostWrites *writes, const char *path, uint64_t before,
                      uint64_t value) {
        *vec_push(arena, writes) = (HostWrite){path, arena_printf(arena, "%" PRIu64, value),
                                               arena_printf(arena, "%" PRIu64, before)};
}

uint64_t limits_sysv_bytes(const Plan *plan, bool is_sum) {
        uint64_t bytes = 0;

        ARRAY_FOREACH(planned, plan->instances, plan->n_instances) {
                uint64_t own = plan_wanted_bytes(planned);

                if (instance_needs_group(planned->demand->config))
                        bytes = is_sum ? add_saturated(bytes, own) : MAX(bytes, own);
        }
        return bytes;
}

/* Returns "oracle (54321)", or the number alone if no known group has it. */
static const char *group_name(Arena *arena, const Accounts *accounts, uint64_t id) {
        VEC_FOREACH(group, &accounts->groups)
                if (group->id == id)
                        return arena_printf(arena, "%s (%" PRIu64 ")", group->name, id);
        return arena_printf(arena, "%" PRIu64, id);
}

static void add_group(Arena *arena, const HostPlanInput *input, HostWrites *writes,
                      Diags *problems) {
        const Account *group = account_find_group(arena, input->accounts, NAME_HUGETLB_GROUP);
        uint64_t now = input->topology->limits.shm_group;

        if (!config_needs_group(input->config) || now == UINT64_MAX)
                return;
        if (!group) {
                diags_report(problems,
                             problem_of(PROBLEM_SHM_GROUP_MISSING, NULL, SHM_GROUP_REMEDY),
                             "the group '" NAME_HUGETLB_GROUP
                             "' does not exist, so System V segments of huge pages stay forbidden");
                return;
        }
        if (now == group->id)
                return;
        /* The kernel knows only one such group: members of the replaced one are told how to keep access. */
        if (now != 0)
                diags_report(
                        problems,
                        problem_of(
                                PROBLEM_SHM_GROUP_REPLACED, NULL,
                                "make its members members of '" NAME_HUGETLB_GROUP
                                "', or describe their database to hugeplan; and remove the line from sysctl.d"),
                        "vm.hugetlb_shm_group is group %s and must be '" NAME_HUGETLB_GROUP
                        "', because it can name one group only",
                        group_name(arena, input->accounts, now));
        add_write(arena, writes, PATH_HUGETLB_SHM_GROUP, now, group->id);
}

HostWrites limits_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems) {
        const KernelLimits *now = &input->topology->limits;
        uint64_t largest = limits_sysv_bytes(input->plan, false);
        uint64_t sum = limits_sysv_bytes(input->plan, true);
        uint64_t pages = topology_base_pages(input->topology, add_saturated(sum, sum / 8));
        bool may_raise = !input->config->host.keep_shared_memory_limits;
        HostWrites writes = {};

        if (input->topology->base_page_bytes == 0 && sum > 0)
                diags_report(
                        problems,
                        (Diag){.severity = SEVERITY_WARNING,
                               .id = problem_id(PROBLEM_HOST_UNREADABLE),
                               .file = PATH_SELF_SMAPS,
                               .remedy = "take the snapshot of the host again"},
                        "the size of base pages, which kernel.shmall counts, is not known: whether it is sufficient is not checked");
        /* One segment may be as large as the largest instance; all segments as large as all instances, and an eighth for
         * the small segments of others. */
        if (may_raise && now->shmmax_bytes < largest)
                add_write(arena, &writes, PATH_SHMMAX, now->shmmax_bytes, largest);
        if (may_raise && now->shmall_pages < pages)
                add_write(arena, &writes, PATH_SHMALL, now->shmall_pages, pages);
        add_group(arena, input, &writes, problems);
        return writes;
}

/* ---- logins ---- */

typedef struct UserLimit {
        const char *user;
        uint64_t bytes;
        bool is_infinite;
} UserLimit;

typedef VEC(UserLimit) UserLimits;

/* A database that an administrator starts from a shell locks as much as one started by its unit. */
static void add_login(Arena *arena, const Plan *plan, const InstanceConfig *instance,
                      UserLimits *limits) {
        const char *user = instance->user ? instance->user : instance->engine->default_user;
        const char *lock = instance_memory_lock(instance);
        uint64_t bytes, uid;

        if (!lock || !user)
                return;
        /* A user that is given by id is matched by it: limits.conf(5), an uid range without a minimum. */
        if (parse_u64(user, &uid) == 0)
                user = arena_printf(arena, ":%" PRIu64, uid);
        UserLimit *limit = VEC_FIND(known, limits, text_equals(known->user, user));

        if (!limit) {
                limit = vec_push(arena, limits);
                limit->user = user;
        }

        if (parse_size_bytes(lock, &bytes) < 0) {
                const PlanInstance *planned = plan_find(plan, instance->name);

                bytes = planned ? plan_wanted_bytes(planned) : 0; /* 0: not known */
                limit->is_infinite = limit->is_infinite || bytes == 0 ||
                                     text_equals(instance->memory_lock, "infinity");
        }
        limit->bytes = add_saturated(limit->bytes, bytes);
}

char *limits_pam_text(Arena *arena, const Config *config, const Plan *plan) {
        UserLimits limits = {};
        Text text = text_in(arena);

        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                add_login(arena, plan, instance, &limits);
        if (limits.n == 0)
                return NULL;
        text_add(
                &text,
                "# Written by hugeplan for logins; services get LimitMEMLOCK= instead. Changes "
                "made here\n# are lost: see MemoryLock= in hugeplan.d(5). In kB, limits.conf(5).\n");
        VEC_FOREACH(limit, &limits) {
                const char *value =
                        limit->is_infinite
                                ? "unlimited"
                                : arena_printf(arena, "%" PRIu64, div_round_up(limit->bytes, KIB));

                text_printf(&text, "%s soft memlock %s\n%s hard memlock %s\n", limit->user, value,
                            limit->user, value);
        }
        return text.string;
}

/* ---- all ---- */

HostPlan host_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems) {
        HostPlan plan = {
                .thp = thp_plan_make(arena, input->config, input->topology, input->systemd_version,
                                     problems),
                .limits = limits_plan_make(arena, input, problems),
        };

        vec_push_all(arena, &plan.writes, &plan.thp.writes);
        vec_push_all(arena, &plan.writes, &plan.limits);
        return plan;
}
