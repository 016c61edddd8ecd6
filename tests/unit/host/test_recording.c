/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recording the reads of a root, the tree from it, and the archive. */

#include "host/record/recording_json.h"
#include "support/testing.h"
#include "support/tree.h"

static const char kinds[] = {'n', 'd', 'l', 'f'};

/* "KIND PATH CONTENTS" per line. */
static char *tree_text(Arena *arena, const Recording *recording) {
        const RecordedTree tree = recording_tree(arena, recording);
        Text text = text_in(arena);

        VEC_FOREACH(each, &tree)
                text_printf(&text, "%c %s %s\n", kinds[each->kind], each->path, each->bytes);
        return arena_strdup(arena, text_string(&text));
}

TREE_TEST(reads) {
        Arena *arena = tree->arena;
        Recording recording = recording_in(arena);
        Names names = {};
        char *text;

        tree_write(tree, "/etc/a/1", "one\n");
        tree_write(tree, "/etc/a/2", "password=x\n");
        tree_write(tree, "/etc/never", "x\n");
        tree_write(tree, "/proc/7/status", "Name: x\n");
        tree_link(tree, "a", "/etc/b");
        root_record(tree->root, &recording.recorder);
        root_list(tree->root, arena, "/etc/a", &names);
        root_list(tree->root, arena, "/proc", &names);
        root_read_file(tree->root, arena, "/etc/b/1", 100, &text, NULL);
        root_read_file(tree->root, arena, "/etc/none", 100, &text, NULL);
        root_read_link(tree->root, arena, "/etc/b", &text);
        root_read_file(tree->root, arena, "/etc/a/2", 100, &text, NULL);
        assert_text(text, "password=x\n"); /* the reader sees all of it */
        root_exists(tree->root, "/etc/a");
        root_exists(tree->root, "/etc/nothing");
        root_record(tree->root, NULL);
        root_read_file(tree->root, arena, "/etc/never", 100, &text, NULL);
        assert_text(tree_text(arena, &recording), "d /etc/a \n"
                                                  "f /etc/a/1 one\n\n"
                                                  "f /etc/a/2 password=x\n\n"
                                                  "l /etc/b a\n"
                                                  "d /proc \n");
}

static void add(Recording *recording, RecordedKind kind, const char *path, const char *bytes) {
        recording->recorder.add(&recording->recorder, kind, path, bytes, strlen(bytes));
}

TEST(links) {
        Recording recording = recording_in(arena);

        add(&recording, RECORDED_LINK, "/lib", "usr/lib");
        add(&recording, RECORDED_LINK, "/loop", "/loop");
        add(&recording, RECORDED_LINK, "/etc/x", "../../../out/./y");
        add(&recording, RECORDED_FILE, "/lib/a", "1");
        add(&recording, RECORDED_FILE, "/usr/lib/a", "2"); /* later */
        add(&recording, RECORDED_FILE, "/loop/a", "3");
        add(&recording, RECORDED_FILE, "/etc/x", "4");
        add(&recording, RECORDED_NAME, "/out/y", "");
        add(&recording, RECORDED_FILE, "/../../etc//passwords", "5");
        add(&recording, RECORDED_DIRECTORY, "/", "");
        assert_text(tree_text(arena, &recording), "f /etc/passwords 5\n"
                                                  "l /etc/x ../../../out/./y\n"
                                                  "l /lib usr/lib\n"
                                                  "l /loop /loop\n"
                                                  "f /out/y 4\n"
                                                  "f /usr/lib/a 1\n");
}

/* Long names have a header of their own; every part ends at a block. */
TEST(archive) {
        Recording recording = recording_in(arena);
        char *name = arena_alloc(arena, 200);
        size_t size;

        memset(name, 'n', 150);
        *name = '/';
        add(&recording, RECORDED_FILE, name, "x");
        const RecordedTree tree = recording_tree(arena, &recording);
        const char *archive = recording_archive(arena, &tree, &size);

        assert_int_equal(size, 512 * (2 + 2 + 2));
        assert_int_equal(archive[156], 'x');
        assert_contains(archive + 512, "159 path=nnn");
        assert_int_equal(archive[1024 + 156], '0');
        assert_memory_equal(archive + 1024 + 257,
                            "ustar\0"
                            "00",
                            8);
        assert_text(archive + 1024 + 124, "00000000001");
        assert_text(archive + 1536, "x");
}

/* From another process, which may send anything. */
TEST(json) {
        Recording recording = recording_in(arena), copy = recording_in(arena);

        add(&recording, RECORDED_FILE, "/a", "100%\n\xFF\x01 %41");
        add(&recording, RECORDED_LINK, "/b", "c");
        json_t *json = recording_to_json(arena, &recording);

        recorded_from_json(&copy.recorder, arena, json);
        json_decref(json);
        assert_text(tree_text(arena, &copy), tree_text(arena, &recording));
        json = json_loads(
                "[[3,\"/proc/1/x\",\"\"],[3,\"/sys/x\",\"\"],[3,\"x\",\"\"],[3,\"/x%00y\",\"\"],[9,\"/x\",\"\"],"
                "[-1,\"/x\",\"\"],[3,\"/x\"],7,[3,\"/ok\",\"%\"]]",
                0, NULL);
        copy = recording_in(arena);
        recorded_from_json(&copy.recorder, arena, json);
        json_decref(json);
        assert_text(tree_text(arena, &copy), "f /ok %\n");
}
