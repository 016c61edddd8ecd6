/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A directory that represents a host, for one test. */

#include "host/root.h"
#include "support/testing.h"

typedef struct Tree {
        Arena *arena;
        char *path; /* of the directory */
        Root *root;
} Tree;

/* A test with an empty Tree. */
#define TREE_TEST(name) TEST_WITH(name, const Tree, tree_new, tree_free, tree)

Tree *tree_new(void);
void tree_free(const Tree *tree);

/* The real path of a file of the host. */
char *tree_path(const Tree *tree, const char *path);

/* These make missing directories. */
void tree_write(const Tree *tree, const char *path, const char *text);
void tree_write_bytes(const Tree *tree, const char *path, const char *bytes, size_t size);
void tree_mkdir(const Tree *tree, const char *path);
void tree_link(const Tree *tree, const char *target, const char *path);

/* The whole file, or NULL. */
char *tree_read(const Tree *tree, const char *path);
