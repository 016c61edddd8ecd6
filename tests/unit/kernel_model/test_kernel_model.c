/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The measurements of model/measured.stories, performed on the model, and tests that no script can express.
 * model/kernel_script.c compares the model with a kernel in other cases. */

#include "model/kernel_model.h"
#include "model/script_model.h"
#include "support/story.h"

#define ONE_NODE  "node 0 total=4G free=3G\n"
#define TWO_NODES ONE_NODE "node 1 total=4G free=3G\n"

enum { PAGE_MIB = 2 };

static const uint64_t page = PAGE_MIB * MIB;

static int set_node(Kernel *kernel, int node, uint64_t n) {
        return kernel_set_pool(kernel, NULL, node, page, n);
}

static KernelMapping *mapped(KernelProcess *process, KernelMap preference) {
        KernelMapping *mapping = NULL;

        assert_int_equal(kernel_map(process, &preference, &mapping), 0);
        return mapping;
}

static const KernelPolicy no_policy;

/* ---- stories ---- */

typedef struct Story {
        Arena *arena;
        Text host;
        Kernel *kernel;
        Script *script;
        const char *shown; /* after the last line of a script */
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

/* "TOTAL/FREE/SURPLUS" of each node with memory, and the host's reserved pages. */
static char *pools_text(Arena *arena, const Kernel *kernel) {
        Text text = text_in(arena);

        for (int node = 0; node < KERNEL_NODES_MAX; node++) {
                KernelPool pool = kernel_pool(kernel, node, page);

                if (kernel_memory_nodes(kernel) & UINT64_C(1) << node)
                        text_printf(&text, "%" PRIu64 "/%" PRIu64 "/%" PRIu64 " ", pool.total_pages,
                                    pool.free_pages, pool.surplus_pages);
        }
        text_printf(&text, "%" PRIu64, kernel_pool(kernel, KERNEL_HOST, page).reserved_pages);
        return text.string;
}

VERB(do_on, "on") {
        if (!story->host.arena)
                story->host = text_in(line->arena);
        text_printf(&story->host, "%s\n", line->rest);
        return NULL;
}

static void make_kernel(Story *story) {
        if (story->kernel)
                return;
        if (!story->host.arena)
                story->host = text_in(story->arena);
        if (!strstr(text_string(&story->host), "node "))
                text_add(&story->host, TWO_NODES);
        story->kernel = kernel_new(story->host.string);
        story->script = script_new(story->arena, &script_model,
                                   script_model_new(story->arena, story->kernel));
}

/* Operations of the model: "ok", an error, or bytes. */
VERB(do_kernel, "kernel") {
        const char *verb = line->words[1], *size = "";
        int node = KERNEL_HOST, r = 0;
        uint64_t bytes = 0;

        make_kernel(story);
        Kernel *kernel = story->kernel;

        if (line->words[2] && !text_equals(line->words[2], "host"))
                node = (int) story_number_at(line, 2);
        if (line->words[2] && line->words[3])
                size = line->words[3];
        if (*size)
                assert_int_equal(parse_size_bytes(size, &bytes), 0);
        if (text_equals(verb, "compact"))
                r = kernel_compact(kernel, node);
        else if (text_equals(verb, "reclaim"))
                r = kernel_reclaim(kernel, node, bytes);
        else if (text_equals(verb, "drop"))
                kernel_drop_caches(kernel);
        else if (text_equals(verb, "give"))
                kernel_give_memory(kernel, (unsigned) node, bytes);
        else if (text_equals(verb, "take"))
                bytes = kernel_take_memory(kernel, (unsigned) node, bytes);
        else if (text_equals(verb, "free"))
                bytes = kernel_free_bytes(kernel, (unsigned) node);
        else
                return "no such verb";
        if (text_equals(verb, "take") || text_equals(verb, "free"))
                return arena_printf(story->arena, "%.17gM", (double) bytes / MIB);
        return r == 0 ? "ok" : strerrorname_np(-r);
}

VERB(do_pools, "pools") {
        return pools_text(line->arena, story->kernel);
}

VERB(do_shown, "shown") {
        return story->shown;
}

VERB(do_broken, "broken") {
        return story_yes(kernel_has_miscounted(story->kernel));
}

/* The result of a script's line. */
static const char *step(void *context, const StoryLine *line) {
        Story *story = context;
        const char *command = arena_printf(line->arena, "%s %s", line->words[0], line->rest), *went;
        Text out = text_in(line->arena);

        make_kernel(story);
        assert_int_equal(script_step(story->script, command, &out), 0);
        story->shown = out.string;
        went = arena_strndup(line->arena, out.string, strcspn(out.string, "\n"));
        return strstr(went, ": ") + 2;
}

static void check_story(void *context) {
        const Story *story = context;

        if (story->kernel)
                assert_null(kernel_check_invariants(story->kernel, story->arena));
}

static void end_story(void *context) {
        Story *story = context;

        kernel_free(story->kernel);
}

STORY_TEST(measured, "model/measured", .size = sizeof(Story), .end = end_story, .otherwise = step,
           .silent = "ok", .check = check_story)

/* ---- what no script can say ---- */

TEST(which_nodes_there_are) {
        CLEANUP(kernel_freep)
        Kernel *kernel =
                kernel_new("node 0 total=4G free=3G\nnode 1\nnode 3 total=1G free=1G nocpu\n");

        assert_int_equal(kernel_memory_nodes(kernel), 0x9);
        assert_int_equal(kernel_cpu_nodes(kernel), 0x3);
}

TEST(mapping_by_its_handle) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(ONE_NODE);
        KernelProcess *process =
                kernel_spawn(kernel, &(KernelSpawn){.policy = no_policy, .cpu_node = 0});

        set_node(kernel, 0, 10);
        KernelMapping *first = mapped(process, (KernelMap){.n_pages = 6});

        kernel_touch(first, 3);
        assert_int_equal(kernel_mapping_untouched(first), 5);
        assert_true(kernel_touch_one_of(first, 7)); /* the third of them */
        assert_text(pools_text(arena, kernel), "10/8/0 4");
        kernel_unmap(first);
        assert_int_equal(kernel_unmap(first), -EINVAL);
}

/* ---- control groups ---- */

#define GROUP "/db.slice/pg.service"

static Kernel *limited(void) {
        Kernel *kernel = kernel_new(ONE_NODE);

        kernel_group_make(kernel, GROUP);
        kernel_group_write(kernel, "/", "cgroup.subtree_control", "+hugetlb");
        kernel_group_write(kernel, "/db.slice", "cgroup.subtree_control", "+hugetlb");
        set_node(kernel, 0, 20);
        return kernel;
}

static KernelCharge charge_of(const Kernel *kernel, const char *path) {
        KernelCharge found = {};

        assert_int_equal(kernel_group_charge(kernel, path, page, &found), 0);
        return found;
}

TEST(limits_as_written) {
        static const struct {
                const char *text;
                int error;
                uint64_t pages;
        } writes[] = {
                {"3M", 0, 1},
                {"1M", 0, 0},
                {"6291456\n", 0, 3},
                {"max", 0, UINT64_MAX},
                {"-1", -EINVAL, UINT64_MAX},
                {"1.5M", -EINVAL, UINT64_MAX},
                {"4MB", -EINVAL, UINT64_MAX},
                {"", -EINVAL, UINT64_MAX},
                {"1g", 0, 512},
        };
        CLEANUP(kernel_freep) Kernel *kernel = limited();
        KernelProcess *process = kernel_spawn(kernel, &(KernelSpawn){.group = GROUP});

        for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
                assert_int_equal(
                        kernel_group_write(kernel, GROUP, "hugetlb.2MB.rsvd.max", writes[i].text),
                        writes[i].error);
                assert_int_equal(charge_of(kernel, GROUP).reserved_max_pages, writes[i].pages);
        }
        mapped(process, (KernelMap){.n_pages = 5});
        assert_int_equal(kernel_group_write(kernel, GROUP, "hugetlb.2MB.rsvd.max", "8M"), -EBUSY);
        assert_int_equal(kernel_group_write(kernel, GROUP, "hugetlb.2MB.max", "8M"), 0);
        assert_int_equal(kernel_group_write(kernel, "/", "hugetlb.2MB.max", "8M"), -ENOENT);
        assert_int_equal(kernel_group_write(kernel, "/x", "hugetlb.2MB.max", "8M"), -ENOENT);
        assert_int_equal(kernel_group_write(kernel, GROUP, "hugetlb.2MB.current", "0"), -EACCES);
        assert_null(kernel_check_invariants(kernel, arena));
}

TEST(groups) {
        CLEANUP(kernel_freep) Kernel *kernel = limited();
        KernelProcess *process = kernel_spawn(kernel, &(KernelSpawn){.group = GROUP});

        assert_int_equal(kernel_group_remove(kernel, GROUP), -EBUSY);
        assert_int_equal(kernel_group_remove(kernel, "/db.slice"), -EBUSY);
        assert_int_equal(kernel_group_remove(kernel, "/no"), -ENOENT);
        /* A group with processes cannot enable controllers, and one with enabled controllers cannot have processes. */
        assert_int_equal(kernel_group_write(kernel, GROUP, "cgroup.subtree_control", "+hugetlb"),
                         -EBUSY);
        assert_int_equal(kernel_move(process, "/db.slice"), -EBUSY);
        assert_int_equal(kernel_move(process, "/no"), -ENOENT);
        assert_int_equal(kernel_group_write(kernel, "/", "cgroup.subtree_control", "-hugetlb"),
                         -EBUSY);
        assert_int_equal(
                kernel_group_write(kernel, "/db.slice", "cgroup.subtree_control", "+cpuset"),
                -ENOENT);
        assert_int_equal(kernel_group_write(kernel, "/", "cgroup.subtree_control", "+x"), -EINVAL);
        kernel_group_make(kernel, "/b");
        assert_int_equal(
                kernel_group_write(kernel, "/b", "cgroup.procs",
                                   arena_printf(arena, "%" PRIu64 "\n", kernel_pid(process))),
                0);
        assert_int_equal(kernel_group_write(kernel, "/b", "cgroup.procs", "99999"), -ESRCH);
        assert_int_equal(kernel_group_remove(kernel, GROUP), 0);
        assert_int_equal(kernel_group_remove(kernel, "/db.slice"), 0);
}

/* ---- scripts ---- */

TEST(script) {
        static const char *const lines[] = {
                "set node1 4", "run A cpu=1 policy=bind:1", "map A 3",
                "map A:x 2",   "set node1 2 # taken away",  "touch A 0-2",
                "touch A 0",
        };
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        Script *script = script_new(arena, &script_model, script_model_new(arena, kernel));
        Text out = text_in(arena);

        script_step(script, "set node0 5", &out);
        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                out = text_in(arena);
                assert_int_equal(script_step(script, lines[i], &out), 0);
        }
        assert_text(out.string, "touch A 0: ESRCH\n"
                                "  node0 2M: 5 total, 5 free, 0 surplus\n"
                                "  node1 2M: 2 total, 2 free, 0 surplus\n"
                                "  host 2M: 7 total, 7 free, 0 surplus, 0 reserved, 0 overcommit\n"
                                "  vm.nr_hugepages 7\n"
                                "  A: killed\n");
        out = text_in(arena);
        assert_int_equal(script_step(script, "touch B 0", &out), -EINVAL);
        assert_text(out.string, "touch B 0: no such name\n");
}
