/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A directory that stands for a host, made for one test and removed with it. */

#include "host/root.h"
#include "support/testing.h"

typedef struct Tree {
        Arena *arena;
        char *path; /* of the directory, outside */
        Root *root;
} Tree;

/* A test that gets an empty Tree as its *state. */
#define TREE_TEST(function) cmocka_unit_test_setup_teardown(function, tree_setup, tree_teardown)

int tree_setup(void **state);
int tree_teardown(void **state);

/* The path from outside. */
char *tree_path(const Tree *tree, const char *path);

/* Makes missing directories. */
void tree_write(const Tree *tree, const char *path, const char *text);
void tree_write_bytes(const Tree *tree, const char *path, const char *bytes, size_t size);
void tree_mkdir(const Tree *tree, const char *path);
void tree_link(const Tree *tree, const char *target, const char *path);

/* The whole file; NULL when there is none. */
char *tree_read(const Tree *tree, const char *path);
