/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/tree_story.h"

#include <sys/stat.h>
#include <unistd.h>

void tree_story_begin(void *context) {
        ((TreeStory *) context)->tree = tree_new();
}

void tree_story_end(void *context) {
        tree_free(((TreeStory *) context)->tree);
}

const char *tree_story_perform(void *context, const StoryLine *line) {
        const Tree *tree = ((TreeStory *) context)->tree;
        const char *verb = line->words[0], *path = line->words[1];
        const char *text = story_text(line, 1);

        if (text_equals(verb, "read"))
                return tree_read(tree, path);
        if (text_equals(verb, "directory"))
                tree_mkdir(tree, path);
        else if (text_equals(verb, "link"))
                tree_link(tree, text, path);
        else if (text_equals(verb, "remove"))
                assert_int_equal(remove(tree_path(tree, path)), 0);
        else if (text_equals(verb, "fifo"))
                assert_int_equal(mkfifo(tree_path(tree, path), 0644), 0);
        else {
                bool has_zeros = text_equals(verb, "zeros");

                if (!has_zeros)
                        assert_text(verb, "file");
                tree_write(tree, path, has_zeros ? "" : text);
                if (has_zeros)
                        assert_int_equal(
                                truncate(tree_path(tree, path), (off_t) story_number_at(line, 2)),
                                0);
        }
        return NULL;
}
