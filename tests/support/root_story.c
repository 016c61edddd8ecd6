/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/root_story.h"

enum { CONTENT_MAX = 100 };

static const char *write_by(const Root *root, const StoryLine *line) {
        static const struct {
                const char *verb;
                int (*write)(const Root *root, const char *path, const char *text);
        } writers[] = {{"attribute", root_write_attribute},
                       {"create", root_create_file},
                       {"write", root_write_file}};
        const char *path = line->words[1], *text = story_text(line, 1);

        for (size_t i = 0; i < ARRAY_LEN(writers); i++)
                if (text_equals(line->words[0], writers[i].verb)) {
                        int r = writers[i].write(root, path, text);

                        return r == 0 ? "ok" : strerrorname_np(-r);
                }
        return NULL;
}

static const char *change(const Root *root, const StoryLine *line) {
        const char *verb = line->words[0], *path = line->words[1];
        int r;

        if (text_equals(verb, "make"))
                r = root_make_directory(root, path);
        else if (text_equals(verb, "delete"))
                r = root_remove(root, path);
        else if (text_equals(verb, "symlink"))
                r = root_symlink(root, line->words[2], path);
        else
                return write_by(root, line);
        return r == 0 ? "ok" : strerrorname_np(-r);
}

/* Outputs are unchanged on failure. */
static const char *read_by(const Root *root, const StoryLine *line, int *ret_error) {
        static char untouched[] = "untouched";
        const char *verb = line->words[0], *path = line->words[1];
        char *text = untouched;
        uint64_t number = 4711;
        Names names = {};

        if (text_equals(verb, "content"))
                *ret_error = root_read_file(root, line->arena, path, CONTENT_MAX, &text, NULL);
        else if (text_equals(verb, "value"))
                *ret_error = root_read_attribute(root, line->arena, path, &text);
        else if (text_equals(verb, "target"))
                *ret_error = root_read_link(root, line->arena, path, &text);
        else if (text_equals(verb, "number"))
                *ret_error = root_read_u64(root, path, &number);
        else if (text_equals(verb, "list"))
                *ret_error = root_list(root, line->arena, path, &names);
        else
                return NULL;
        if (*ret_error < 0) {
                assert_ptr_equal(text, untouched);
                assert_true(number == 4711 && names.n == 0);
        }
        if (text_equals(verb, "number"))
                return story_number(line, number);
        if (!text_equals(verb, "list"))
                return text;
        Text listed = text_in(line->arena);

        VEC_FOREACH(name, &names)
                text_printf(&listed, "%s%s", listed.length > 0 ? " " : "", *name);
        return text_string(&listed);
}

const char *root_story_perform(const Root *root, const StoryLine *line) {
        int error = 0;
        const char *answer = read_by(root, line, &error);

        if (answer)
                return error < 0 ? strerrorname_np(-error) : answer;
        if (!text_equals(line->words[0], "kind"))
                return change(root, line);
        if (root_is_directory(root, line->words[1]))
                return "directory";
        return root_exists(root, line->words[1]) ? "file" : "none";
}
