/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Entries of the journal are read back as the daemon wrote them, and nothing is written twice. */

#include "status/history.h"
#include "support/testing.h"

static HistoryEntry taken(Arena *arena, const SourceNames *fields) {
        HistoryEntry entry = {};

        VEC_FOREACH(field, fields)
                history_take_field(arena, &entry, *field, strlen(*field));
        return entry;
}

static const char *fields_text(Arena *arena, const HistoryEntry *entry) {
        SourceNames fields = history_to_fields(arena, entry);
        Text text = text_in(arena);

        VEC_FOREACH(field, &fields)
                text_printf(&text, "%s\n", *field);
        return text_string(&text);
}

static HistoryEntry reservation(Arena *arena) {
        HistoryEntry entry = {
                .level = HISTORY_NUMBER(6),
                .event = history_events[HISTORY_RESERVED].name,
                .kind = history_events[HISTORY_RESERVED].kind,
                .text = "node 0: 92,160 pages of 2M are reserved",
                .figures = {.node = HISTORY_NUMBER(0),
                            .page_size_bytes = HISTORY_NUMBER(2 * MIB),
                            .pages_before = HISTORY_NUMBER(0),
                            .pages = HISTORY_NUMBER(92160)},
        };

        *vec_push(arena, &entry.instances) = "orders";
        *vec_push(arena, &entry.instances) = "sales";
        return entry;
}

TEST(fields) {
        const HistoryEntry entry = reservation(arena);

        assert_text(fields_text(arena, &entry), "MESSAGE=node 0: 92,160 pages of 2M are reserved\n"
                                                "PRIORITY=6\n"
                                                "HUGEPLAN_EVENT=reserved\n"
                                                "HUGEPLAN_KIND=pool\n"
                                                "HUGEPLAN_NODE=0\n"
                                                "HUGEPLAN_PAGE_SIZE=2097152\n"
                                                "HUGEPLAN_PAGES_BEFORE=0\n"
                                                "HUGEPLAN_PAGES=92160\n"
                                                "HUGEPLAN_INSTANCE=orders\n"
                                                "HUGEPLAN_INSTANCE=sales\n");
}

TEST(read_back) {
        const HistoryEntry entry = reservation(arena);
        SourceNames fields = history_to_fields(arena, &entry);
        const HistoryEntry again = taken(arena, &fields);

        assert_text(fields_text(arena, &again), fields_text(arena, &entry));
}

/* The journal may hold anything. */
TEST(strange_fields) {
        HistoryEntry entry = {};
        static const char *const fields[] = {"HUGEPLAN_NODE=-1", "HUGEPLAN_PAGES=12x", "no equals",
                                             "=", "_PID=1"};

        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                history_take_field(arena, &entry, fields[i], strlen(fields[i]));
        assert_text(fields_text(arena, &entry), "");
        history_take_field(arena, &entry, "MESSAGE=a\033[2Jb\nc\0d", 19);
        assert_text(entry.text, "a?[2Jb?c");
}

static void say(Arena *arena, HistoryEntries *history, const char *instance, const char *event,
                const char *text) {
        HistoryEntry *entry = vec_push(arena, history);

        *entry = (HistoryEntry){.event = event, .text = text};
        *vec_push(arena, &entry->instances) = instance;
}

TEST(nothing_twice) {
        HistoryEntries history = {};
        Text text = text_in(arena);

        say(arena, &history, "orders", "ready", "a");
        say(arena, &history, "sales", "ready", "b");
        say(arena, &history, "orders", "ready",
            "with other figures"); /* the daemon was restarted */
        say(arena, &history, "orders", "lost", "c");
        say(arena, &history, "orders", "ready", "a");
        say(arena, &history, "orders", "gate-passed", "d");
        say(arena, &history, "orders", "gate-passed", "d");
        for (unsigned i = 0; i < 3; i++) {
                say(arena, &history, "orders", "ready", "all");
                *vec_push(arena, &history.items[history.n - 1].instances) = "sales";
        }
        /* One of them was lost, so it is news that both are ready. */
        say(arena, &history, "sales", "lost", "e");
        say(arena, &history, "orders", "ready", "again");
        *vec_push(arena, &history.items[history.n - 1].instances) = "sales";
        history_fold(&history);
        VEC_FOREACH(entry, &history)
                text_printf(&text, "%s %s %s\n", entry->instances.items[0], entry->event,
                            entry->text);
        assert_text(text.string, "orders ready a\n"
                                 "sales ready b\n"
                                 "orders lost c\n"
                                 "orders ready a\n"
                                 "orders gate-passed d\n"
                                 "orders gate-passed d\n"
                                 "sales lost e\n"
                                 "orders ready again\n");
}

static uint64_t unused_since(Arena *arena, const char *const *events, size_t n) {
        HistoryEntries history = {};

        for (size_t i = 0; i < n; i++) {
                say(arena, &history, "orders", events[i], "a");
                history.items[i].at_usec = 100 + i;
        }
        say(arena, &history, "sales", "gate-passed", "b");
        return history_unused_since(&history, "orders");
}

#define SINCE(...)                                              \
        unused_since(arena, (const char *const[]){__VA_ARGS__}, \
                     ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

/* From the time when its pages were there, not of its start. */
TEST(unused_since) {
        assert_int_equal(SINCE("reserved", "ready", "drift", "ready"), 101);
        assert_int_equal(SINCE("ready", "lost", "ready"), 102);
        assert_int_equal(SINCE("ready", "refused"), 0);
        assert_int_equal(SINCE("ready", "gate-passed", "ready"), 0);
        assert_int_equal(SINCE("reserved"), 0);
}

static void add_drift(Arena *arena, HistoryEntries *history, const char *at, unsigned node,
                      uint64_t page_size_bytes, uint64_t before, uint64_t now) {
        say(arena, history, NULL, "drift", "a");
        HistoryEntry *entry = &history->items[history->n - 1];

        entry->at = at;
        entry->figures = (HistoryFigures){.node = HISTORY_NUMBER(node),
                                          .page_size_bytes = HISTORY_NUMBER(page_size_bytes),
                                          .pages_before = HISTORY_NUMBER(before),
                                          .pages = HISTORY_NUMBER(now)};
}

/* The last addition for each node and size; removed pages, and entries without a pool, are no additions. */
TEST(latest_additions) {
        HistoryEntries history = {};

        assert_text(
                history_say_who(arena, &history, 2 * MIB),
                "who set them is not known: hugepland has not run in this boot, or has seen no change of them");
        history.missing = "there is no journal";
        assert_text(history_say_who(arena, &history, 2 * MIB),
                    "who set them is not known: there is no journal");
        history.missing = NULL;
        add_drift(arena, &history, "at 1", 0, 2 * MIB, 0, 40);
        add_drift(arena, &history, "at 2", 0, 2 * MIB, 40, 1060);
        add_drift(arena, &history, "at 3", 1, 2 * MIB, 0, 1);
        add_drift(arena, &history, "at 4", 0, GIB, 0, 1);
        add_drift(arena, &history, "at 5", 0, 2 * MIB, 1060, 20);
        say(arena, &history, NULL, "drift", "transparent huge pages");
        assert_text(
                history_say_who(arena, &history, 2 * MIB),
                "at 2: 40 to 1,060 pages of 2M on node 0; at 3: 0 to 1 page of 2M on node 1, not by hugeplan");
}
