/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* For every unit test: cmocka, an arena for each test, comparisons of strings that may be NULL, and short descriptions of
 * hosts and configurations. */

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

/* A test with a PARAMETER that MAKE makes and UNMAKE frees. Tests register themselves before main(), in the order of
 * their file. */
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

/* Compares strings that may be NULL, and prints both if they differ. */
#define assert_text(actual, expected) \
        testing_assert_text((actual), (expected), #actual, __FILE__, __LINE__)

#define assert_contains(haystack, needle) \
        testing_assert_contains((haystack), (needle), __FILE__, __LINE__)

void testing_register(const char *path, const struct CMUnitTest *test);
void testing_assert_text(const char *actual, const char *expected, const char *what,
                         const char *file, int line);
void testing_assert_contains(const char *haystack, const char *needle, const char *file, int line);

/* Makes a host of one fact per line:
 *
 *   sizes 1G 2M             page sizes, largest first; the last one is the default
 *   node 0 total=16G free=15G cache=1G 2M=10/4/1 noreclaim nocompact
 *                           a pool is TOTAL/FREE/SURPLUS; "1G=-": the pool does not exist
 *   reserved 2M=3
 *   possible 0-7            nodes that may come online; default: those that are
 *   cpus 64                 online CPUs; default: unknown
 *   cma 4G                  memory for contiguous allocations; default: none
 *   commit 50 60G 20G       vm.overcommit_memory=2: overcommit_ratio, CommitLimit, Committed_AS; default: another mode
 *   allowed 0-1             the cpuset of hugeplan; default: all nodes
 *   thp madvise 64K=never 2M=inherit/always shmem=never defrag=madvise max_ptes_none=511
 *   blocks 0 9=12 10=3      free blocks of a node by order
 *
 * A node without `total` has no memory. */
Topology *host_make(Arena *arena, const char *text);
Topology *host_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Running units: their holds, and their use of pages. */
typedef struct Running {
        LedgerHolds holds;
        HostUse use;
} Running;

/* Makes them of one fact per line:
 *
 *   hold pg.service pg 2M=0:10/1:5 wanted=20 bind=0-1 counted run=a1
 *                           the unit's hold for an instance, by node; memory policy "bind=",
 *                           "interleave=" or "unknown"; default: any
 *   unit pg.service 2M=12/0:7/1:3 mems=0-1
 *                           the unit has a control group, 12 mapped pages, and 10 pages in use; the
 *                           hugetlb controller does not count other sizes
 *   mount pg 2M=100/40      the mount of an instance earmarks 100 pages; 40 of them are in use
 */
Running running_make(Arena *arena, const char *text);

/* A ledger of the host without any page in use, so that the pages in use came later. */
Ledger *ledger_of_idle(Arena *arena, const Topology *topology);

/* Changes the pools as PLAN says. */
void host_apply(Topology *topology, const Plan *plan);

/* "20-pg.conf.d/90-x.conf" extends "20-pg.conf". A text of NULL is an unreadable file (EACCES). */
void config_add_file(Arena *arena, ConfigFiles *files, const char *name, const char *text,
                     size_t size);
/* Pairs of name and text, ended by NULL. */
Config *config_make(Arena *arena, ...) __attribute__((sentinel));
Config *config_make_files(Arena *arena, const char *const *names, const char *const *texts,
                          size_t n);

/* "a Pages=10 Nodes=0; 00 [Host] KeepFree=1G": a.conf and 00.conf, one setting per line. The default section is
 * [Instance]; a word without "Key=" belongs to the preceding value. */
Config *config_line(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One file of any bytes. */
Config *config_make_bytes(Arena *arena, const char *name, const char *bytes, size_t size);

/* The first plan of a boot. */
Plan *plan_simple(Arena *arena, const Config *config, const Topology *topology);

/* A plan with a ledger, which is observed first, and limits. Both may be NULL. */
Plan *plan_with(Arena *arena, const Config *config, const Topology *topology, Ledger *ledger,
                const PoolLimits *limits);

/* A plan beside running units, whose holds are added to LEDGER, which may be NULL. */
Plan *plan_beside(Arena *arena, const Config *config, const Topology *topology, Ledger *ledger,
                  const Running *running);

#define assert_grants(plan, instance, expected) \
        assert_text(grants_text(arena, (plan), (instance)), (expected))
#define assert_steps(plan, expected) assert_text(steps_text(arena, (plan)), (expected))

/* "0:3 2:5": an instance's grants; "-": none. */
char *grants_text(Arena *arena, const Plan *plan, const char *instance);

/* "0:2M:0->3 1:2M:5->4 0:1G:3=>2": the steps of a plan in their order; "=>" by demotion; "-": none. */
char *steps_text(Arena *arena, const Plan *plan);

/* The first unexpected line of a generated drop-in (other than a comment, section, known setting or empty line), or NULL.
 * CTL as for dropins_make(). */
const char *dropin_odd_line(Arena *arena, const char *text, const char *ctl);

/* One formatted diagnostic per line. */
char *problems_text(Arena *arena, const Diags *problems);
