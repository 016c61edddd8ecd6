/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Limits of the kernel, of units and of logins, and the accounts that they name (limits.stories).
 *
 *     config a Engine=oracle Pages=1      for config_line()
 *     file /etc/group root:x:0:\n         of the host
 *     shmmax 1073741824                   the kernel's; shmall, shm-group, and base-page, the size of one
 *     writes -> shmall=2949120            the limits that are set; problems: of them
 *     memory-lock a, logins               of a unit; of all logins, without the comment
 *     user db, group dba, member dba db   accounts
 *     refusals                            of instances with accounts that do not exist
 */

#include "base/size.h"
#include "config/config.h"
#include "plan/host_plan.h"
#include "support/story.h"

enum { FILES_MAX = 8 };

typedef struct Story {
        Arena *arena;
        const char *config;
        KernelLimits limits;
        uint64_t base_page_bytes;
        TestFile files[FILES_MAX];
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static void begin_story(void *context) {
        Story *story = context;

        story->limits = (KernelLimits){UINT64_MAX, UINT64_MAX, 0};
        story->base_page_bytes = 4096;
        story->files[0] =
                (TestFile){"/etc/group", "root:x:0:\ndba:x:54321:oracle\nhugetlb:x:990:\n"};
}

VERB(do_config, "config") {
        story->config = line->rest;
        return NULL;
}

VERB(do_file, "file") {
        return story_change_files(line, story->files, FILES_MAX);
}

VERB(do_limit, "shmmax shmall shm-group base-page") {
        const struct {
                const char *name;
                uint64_t *limit;
        } limits[] = {{"shmmax", &story->limits.shmmax_bytes},
                      {"shmall", &story->limits.shmall_pages},
                      {"shm-group", &story->limits.shm_group},
                      {"base-page", &story->base_page_bytes}};

        ARRAY_FOREACH(each, limits, ARRAY_LEN(limits))
                if (text_equals(each->name, line->words[0]))
                        *each->limit = story_number_at(line, 1);
        return NULL;
}

static Accounts accounts_of(Arena *arena, const Story *story) {
        return accounts_read(arena, test_sources(arena, story->files,
                                                 test_files_count(story->files, FILES_MAX)));
}

static Topology *host_of(Arena *arena, const Story *story) {
        Topology *host = host_make(arena, "sizes 2M\nnode 0 total=64G free=60G\n");

        host->limits = story->limits;
        host->base_page_bytes = story->base_page_bytes;
        return host;
}

VERB(do_writes, "writes problems") {
        const Config *config = config_line(line->arena, "%s", story->config);
        const Topology *host = host_of(line->arena, story);
        const Accounts accounts = accounts_of(line->arena, story);
        const HostPlanInput input = {config, plan_simple(line->arena, config, host), host,
                                     &accounts};
        Diags problems = diags_in(line->arena);
        Text text = text_in(line->arena);
        const HostWrites writes = limits_plan_make(line->arena, &input, &problems);

        if (text_equals(line->words[0], "problems"))
                return problems_text(line->arena, &problems);
        VEC_FOREACH(write, &writes)
                text_add_word(&text, arena_printf(line->arena, "%s=%s", text_base_name(write->path),
                                                  write->value));
        return text_string(&text);
}

VERB(do_memory_lock, "memory-lock") {
        const Config *config = config_line(line->arena, "%s", line->rest);

        assert_text(problems_text(line->arena, &config->problems), "");
        return instance_memory_lock(&config->instances[0]);
}

VERB(do_logins, "logins") {
        const Config *config = config_line(line->arena, "%s", story->config);
        char *text = limits_pam_text(line->arena, config,
                                     plan_simple(line->arena, config, host_of(line->arena, story)));

        return text ? strstr(text, "limits.conf(5).\n") + strlen("limits.conf(5).\n") : NULL;
}

/* "NAME ID GROUP-ID HOME" */
VERB(do_account, "user group") {
        const Accounts accounts = accounts_of(line->arena, story);
        const Account *account =
                (text_equals(line->words[0], "user") ? account_find_user : account_find_group)(
                        line->arena, &accounts, line->words[1]);

        if (!account)
                return NULL;
        return arena_printf(line->arena, "%s %" PRIu64 " %" PRId64 " %s", account->name,
                            account->id, (int64_t) account->group_id,
                            account->home ? account->home : "-");
}

/* GROUP USER */
VERB(do_member, "member") {
        const Accounts accounts = accounts_of(line->arena, story);

        return story_yes(account_has_member(
                line->arena, account_find_group(line->arena, &accounts, line->words[1]),
                line->words[2]));
}

/* Which accounts other sources than the files may have. */
VERB(do_elsewhere, "elsewhere") {
        const Accounts accounts = accounts_of(line->arena, story);

        return arena_printf(line->arena, "users %s, groups %s", story_yes(accounts.users_elsewhere),
                            story_yes(accounts.groups_elsewhere));
}

/* Of the instances, which are all those with problems. */
VERB(do_refusals, "refusals") {
        Config *config = config_line(line->arena, "%s", story->config);
        const Accounts accounts = accounts_of(line->arena, story);
        Text text = text_in(line->arena);
        size_t n = 0;

        config_check_accounts(line->arena, config, &accounts);
        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (instance->refusal) {
                        text_printf(&text, "%s\n", diag_format(line->arena, instance->refusal));
                        n++;
                }
        assert_int_equal(config->problems.list.n, n);
        return text_string(&text);
}

STORY_TEST(stories, "unit/plan/limits", .size = sizeof(Story), .begin = begin_story)
