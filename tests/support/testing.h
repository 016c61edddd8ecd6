/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What every test file of this project begins with: cmocka, an arena for each test, comparisons
 * that take NULL, and hosts and configurations described in a few words. */

#include "base/text.h"
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef assert_uint_in_range /* cmocka 1 */
#        define assert_uint_in_range assert_in_range
#endif

/* A test of the file in which it stands, with a PARAMETER that MAKE makes for it and UNMAKE takes back. No list names
 * the tests: each registers itself before main(), in the order of its file. */
#define TEST_WITH(name, Type, make, unmake, parameter)                                      \
        static void test_##name(Type *parameter);                                           \
        static int set_up_##name(void **state) {                                            \
                return !(*state = (void *) (make) ());                                      \
        }                                                                                   \
        static int tear_down_##name(void **state) {                                         \
                (unmake)(*state);                                                           \
                return 0;                                                                   \
        }                                                                                   \
        static void perform_##name(void **state) {                                          \
                test_##name(*state);                                                        \
        }                                                                                   \
        __attribute__((constructor)) static void register_##name(void) {                    \
                testing_register(__FILE__,                                                  \
                                 &(struct CMUnitTest){#name, perform_##name, set_up_##name, \
                                                      tear_down_##name, NULL});             \
        }                                                                                   \
        static void test_##name(Type *parameter UNUSED)

/* A test with a fresh arena. */
#define TEST(name) TEST_WITH(name, Arena, arena_new, arena_free, arena)

/* Strings that may be NULL; both are shown when they differ. */
#define assert_text(actual, expected) \
        testing_assert_text((actual), (expected), #actual, __FILE__, __LINE__)

#define assert_contains(haystack, needle) \
        testing_assert_contains((haystack), (needle), __FILE__, __LINE__)

void testing_register(const char *path, const struct CMUnitTest *test);
void testing_assert_text(const char *actual, const char *expected, const char *what,
                         const char *file, int line);
void testing_assert_contains(const char *haystack, const char *needle, const char *file, int line);

/* A host, one fact to a line:
 *
 *   sizes 1G 2M             page sizes, from the largest down; the last one is the default
 *   node 0 total=16G free=15G cache=1G 2M=10/4/1 noreclaim nocompact
 *                           a pool is TOTAL/FREE/SURPLUS; "1G=-" leaves its directory out
 *   reserved 2M=3
 *   possible 0-7            nodes that may come online; by default those that are
 *   cpus 64                 how many are online; by default that is not known
 *   cma 4G                  memory set aside for contiguous allocations; by default none
 *   allowed 0-1             our own cpuset; by default all
 *   thp madvise 64K=never 2M=inherit/always shmem=never defrag=madvise max_ptes_none=511
 *   blocks 0 9=12 10=3      free blocks of a node by order
 *
 * A node without `total` has no memory. */
Topology *host_make(Arena *arena, const char *text);
Topology *host_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Who runs: what units were let start with, and what they use. */
typedef struct Running {
        LedgerHolds holds;
        HostUse use;
} Running;

/* One fact to a line:
 *
 *   hold pg.service pg 2M=0:10/1:5 wanted=20 bind=0-1 counted run=a1
 *                           what a unit was let start with for an instance, by node; under "bind=",
 *                           "interleave=" or "unknown", by default any policy
 *   unit pg.service 2M=12/0:7/1:3 mems=0-1
 *                           it has a control group; of 12 pages that it has mapped 10 are in use;
 *                           a size that is left out nobody counts
 *   mount pg 2M=100/40      its mount earmarks 100 pages; 40 of them are in use
 */
Running running_make(Arena *arena, const char *text);

/* A ledger of the host when nobody used a page yet: what is in use has come since. */
Ledger *ledger_of_idle(Arena *arena, const Topology *topology);

/* Lets the kernel do everything that PLAN wants. */
void host_apply(Topology *topology, const Plan *plan);

/* Pairs of name and text, ended by NULL. "20-pg.conf.d/90-x.conf" extends "20-pg.conf". A text of
 * NULL is a file that cannot be read (EACCES). */
Config *config_make(Arena *arena, ...) __attribute__((sentinel));
Config *config_make_files(Arena *arena, const char *const *names, const char *const *texts,
                          size_t n);

/* "a Pages=10 Nodes=0; 00 [Host] KeepFree=1G": a.conf and 00.conf, a setting to a line. The section is [Instance]
 * where none is named; a word that is no Key=... belongs to the value before it. */
Config *config_line(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a file that holds any bytes. */
Config *config_make_bytes(Arena *arena, const char *name, const char *bytes, size_t size);

/* The plan on a host that nobody has touched yet. */
Plan *plan_simple(Arena *arena, const Config *config, const Topology *topology);

/* With a ledger (observed here) and limits, both of which may be NULL. */
Plan *plan_with(Arena *arena, const Config *config, const Topology *topology, Ledger *ledger,
                const PoolLimits *limits);

/* Beside those who run, whose holds LEDGER (which may be NULL) takes up. */
Plan *plan_beside(Arena *arena, const Config *config, const Topology *topology, Ledger *ledger,
                  const Running *running);

/* By the test's own arena. */
#define assert_grants(plan, instance, expected) \
        assert_text(grants_text(arena, (plan), (instance)), (expected))
#define assert_steps(plan, expected) assert_text(steps_text(arena, (plan)), (expected))

/* "0:3 2:5": what an instance gets; "-" for nothing. */
char *grants_text(Arena *arena, const Plan *plan, const char *instance);

/* "0:2M:0->3 1:2M:5->4 0:1G:3=>2": what is to be written, in this order; "=>" by splitting; "-" for nothing. */
char *steps_text(Arena *arena, const Plan *plan);

/* The first line of a generated drop-in that is none of those that are meant (a comment, a section,
 * one of the settings, nothing); NULL when there is none. CTL as for dropins_make(). */
const char *dropin_odd_line(Arena *arena, const char *text, const char *ctl);

/* The problems of CONFIG, one formatted diagnostic to a line. */
char *problems_text(Arena *arena, const Diags *problems);
