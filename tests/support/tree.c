/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/tree.h"

#include <ftw.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void require(bool holds, const char *what) {
        if (holds)
                return;
        perror(what);
        abort();
}

/* In memory if possible, because the programs use fsync(2). Some tests execute files, so not with noexec. */
static const char *temporary_directory(void) {
        const char *chosen = getenv("TMPDIR");
        struct statvfs memory;

        if (chosen)
                return chosen;
        return access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &memory) == 0 &&
                               !(memory.f_flag & ST_NOEXEC)
                       ? "/dev/shm"
                       : "/tmp";
}

Tree *tree_new(void) {
        Arena *arena = arena_new();
        Tree *tree = ARENA_NEW(arena, Tree);

        tree->arena = arena;
        tree->path = arena_printf(arena, "%s/hugeplan-test-XXXXXX", temporary_directory());
        require(mkdtemp(tree->path) != NULL, "mkdtemp");
        require(root_open(tree->path, &tree->root) == 0, "root_open");
        return tree;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk) {
        (void) st;
        (void) type;
        (void) walk;
        return remove(path);
}

void tree_free(const Tree *tree) {
        root_free(tree->root);
        nftw(tree->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        arena_free(tree->arena);
}

char *tree_path(const Tree *tree, const char *path) {
        return arena_printf(tree->arena, "%s%s", tree->path, path);
}

static void make_parents(const Tree *tree, const char *path) {
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                const char *part = arena_strndup(tree->arena, path, (size_t) (slash - path));

                if (mkdir(tree_path(tree, part), 0755) < 0)
                        require(errno == EEXIST, part);
        }
}

void tree_mkdir(const Tree *tree, const char *path) {
        make_parents(tree, path);
        require(mkdir(tree_path(tree, path), 0755) == 0, path);
}

void tree_write_bytes(const Tree *tree, const char *path, const char *bytes, size_t size) {
        make_parents(tree, path);
        FILE *file = fopen(tree_path(tree, path), "we");

        require(file != NULL, path);
        require(fwrite(bytes, 1, size, file) == size, path);
        require(fclose(file) == 0, path);
}

void tree_write(const Tree *tree, const char *path, const char *text) {
        tree_write_bytes(tree, path, text, strlen(text));
}

void tree_link(const Tree *tree, const char *target, const char *path) {
        make_parents(tree, path);
        require(symlink(target, tree_path(tree, path)) == 0, path);
}

char *tree_read(const Tree *tree, const char *path) {
        FILE *file = fopen(tree_path(tree, path), "re");
        Text text = text_in(tree->arena);
        char buffer[4096];
        size_t n;

        if (!file)
                return NULL;
        while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
                text_add_n(&text, buffer, n);
        fclose(file);
        return arena_strdup(tree->arena, text_string(&text));
}
