/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changes in the files that are not in effect yet (pending.stories).
 *
 *     conf 20-pg.conf TEXT, no-conf 20-pg.conf      adds, replaces or removes a file
 *     daemon                                        a daemon has read the files
 *     earlier-daemon                                its status has no fingerprints
 *     knows-mistakes, rejected                      its status has the problems of the files; or that a reload failed
 *     judge -> TEXT                                 the problems; "judge unread": systemd has not read the units again
 */

#include "config/config.h"
#include "status/pending.h"
#include "support/story.h"

enum { FILES_MAX = 4 };

typedef struct Story {
        Arena *arena;
        const char *names[FILES_MAX], *texts[FILES_MAX];
        size_t n;
        Status *running;
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

VERB(do_conf, "conf no-conf") {
        int i = text_index(story->names, story->n, line->words[1]);
        size_t at = i < 0 ? story->n++ : (size_t) i;

        assert_true(at < FILES_MAX);
        if (text_equals(line->words[0], "no-conf")) {
                story->n--;
                story->names[at] = story->names[story->n];
                story->texts[at] = story->texts[story->n];
                return NULL;
        }
        story->names[at] = line->words[1];
        story->texts[at] = story_text(line, 1);
        return NULL;
}

static Config *config_of(const Story *story) {
        return config_make_files(story->arena, story->names, story->texts, story->n);
}

VERB(do_daemon, "daemon") {
        const Config *config = config_of(story);
        Topology *topology = host_make(line->arena, "sizes 2M\nnode 0 total=16G free=15G\n");
        const StatusInput input = {
                .config = config,
                .plan = plan_simple(line->arena, config, topology),
                .topology = topology,
                .ledger = ledger_new(line->arena, ""),
                .phase = "idle",
        };

        story->running = status_judge(line->arena, &input);
        return NULL;
}

VERB(do_earlier_daemon, "earlier-daemon") {
        story->running->fingerprint = NULL;
        story->running->instances[0].fingerprint = NULL;
        return NULL;
}

VERB(do_knows, "knows-mistakes rejected") {
        if (text_equals(line->words[0], "rejected"))
                diags_add(&story->running->problems, &(Diag){.id = "config-rejected", .text = "x"});
        else
                diags_add_all(&story->running->problems, &config_of(story)->problems);
        return NULL;
}

/* What is added to the problems of the daemon, which stay as they are. */
VERB(do_judge, "judge") {
        Status status = *story->running;
        Diags added = diags_in(line->arena);

        status.problems = diags_in(line->arena);
        diags_add_all(&status.problems, &story->running->problems);
        if (story_has_word(line, "unread"))
                diags_add(&status.problems, &(Diag){.id = "dropin-missing", .text = "x"});
        size_t n = status.problems.list.n;

        pending_judge(config_of(story), &status);
        for (; n < status.problems.list.n; n++)
                diags_add(&added, &status.problems.list.items[n]);
        return problems_text(line->arena, &added);
}

STORY_TEST(stories, "unit/status/pending", .size = sizeof(Story))
