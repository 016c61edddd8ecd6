/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Stories about a directory that represents a host, which is empty at first. Verbs of all of them:
 *
 *     file PATH TEXT          writes a file
 *     directory PATH
 *     link PATH TARGET
 *     fifo PATH
 *     zeros PATH BYTES        a file of this size
 *     remove PATH             a file, a link or an empty directory
 *     read PATH -> TEXT */

#include "support/story.h"
#include "support/tree.h"

typedef struct TreeStory {
        Arena *arena; /* of the story */
        Tree *tree;
} TreeStory;

void tree_story_begin(void *context);
void tree_story_end(void *context);

/* Performs the verbs above. */
const char *tree_story_perform(void *context, const StoryLine *line);

#define TREE_VERB(name, words) STORY_VERB(name, words, TreeStory, story)

/* Members of the StoryTeller. */
#define TREE_TELLER                                                                  \
        .size = sizeof(TreeStory), .begin = tree_story_begin, .end = tree_story_end, \
        .otherwise = tree_story_perform
