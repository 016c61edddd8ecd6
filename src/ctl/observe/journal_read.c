/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The journal through systemd's own library, which is loaded for this alone: a gate, at boot, must not wait for it. */
#include "ctl/observe/journal_read.h"

#include "base/text.h"
#include "model/names.h"
#include "runtime/clock.h"

#include <dlfcn.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#define CALLS(X)                                                         \
        X(open_directory) X(close) X(add_match) X(flush_matches)         \
        X(query_unique) X(enumerate_unique) X(seek_head) X(next)         \
        X(seek_realtime_usec) X(get_realtime_usec) X(get_monotonic_usec) \
        X(restart_data) X(enumerate_data)
/* clang-format on */

typedef struct Journal {
        void *library;
        sd_journal *journal;
#define X(call) typeof(sd_journal_##call) *call;
        CALLS(X)
#undef X
} Journal;

/* Of one boot. */
typedef struct Boot {
        const char *id;
        uint64_t first_usec;
} Boot;

typedef VEC(Boot) Boots;

static void journal_end(Journal *journal) {
        if (journal->journal)
                journal->close(journal->journal);
        if (journal->library)
                dlclose(journal->library);
}

static int journal_begin(Journal *journal, const char *root) {
        bool is_whole = true;

        journal->library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
        if (!journal->library)
                return -ENOPKG;
#define X(call)                                                                   \
        *(void **) &journal->call = dlsym(journal->library, "sd_journal_" #call); \
        is_whole = is_whole && journal->call;
        CALLS(X)
#undef X
        return is_whole ? journal->open_directory(&journal->journal, root, SD_JOURNAL_OS_ROOT)
                        : -ENOPKG;
}

static int match(Journal *journal, const char *field) {
        return journal->add_match(journal->journal, field, strlen(field));
}

/* ---- boots ---- */

static int compare_boots(const void *a, const void *b) {
        const Boot *first = a, *second = b;

        return (first->first_usec > second->first_usec) - (first->first_usec < second->first_usec);
}

/* All of which the journal has anything, as `journalctl --list-boots` counts them; the oldest first. */
static Boots find_boots(Journal *journal, Arena *arena) {
        static const char prefix[] = "_BOOT_ID=";
        Boots boots = {};
        const void *data;
        size_t length;

        if (journal->query_unique(journal->journal, "_BOOT_ID") < 0)
                return boots;
        while (journal->enumerate_unique(journal->journal, &data, &length) > 0)
                if (length > strlen(prefix))
                        vec_push(arena, &boots)->id =
                                arena_strndup(arena, (const char *) data + strlen(prefix),
                                              length - strlen(prefix));
        VEC_FOREACH(boot, &boots) {
                journal->flush_matches(journal->journal);
                if (match(journal, arena_printf(arena, "%s%s", prefix, boot->id)) >= 0 &&
                    journal->seek_head(journal->journal) >= 0 &&
                    journal->next(journal->journal) > 0)
                        journal->get_realtime_usec(journal->journal, &boot->first_usec);
        }
        journal->flush_matches(journal->journal);
        vec_sort(&boots, compare_boots);
        return boots;
}

static const Boot *wanted_boot(const Boots *boots, const JournalQuery *query) {
        if (query->boots_ago.is_known)
                return query->boots_ago.value < boots->n
                               ? &boots->items[boots->n - 1 - query->boots_ago.value]
                               : NULL;
        return VEC_FIND(boot, boots, text_equals(boot->id, query->boot));
}

/* ---- entries ---- */

const char *journal_format_moment(Arena *arena, uint64_t usec) {
        time_t seconds = (time_t) (usec / USEC_PER_SEC);
        char text[sizeof("2026-12-31 23:59:59") + 16];
        struct tm local;

        if (!localtime_r(&seconds, &local) ||
            strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local) == 0)
                return "-";
        return arena_strdup(arena, text);
}

static void read_entry(Journal *journal, Arena *arena, const Boots *boots,
                       HistoryEntries *history) {
        HistoryEntry entry = {};
        const void *data;
        size_t length;
        sd_id128_t boot = {};
        uint64_t monotonic;
        Text id = text_in(arena);

        journal->restart_data(journal->journal);
        while (journal->enumerate_data(journal->journal, &data, &length) > 0)
                history_take_field(arena, &entry, data, length);
        if (!entry.event || journal->get_realtime_usec(journal->journal, &entry.at_usec) < 0 ||
            journal->get_monotonic_usec(journal->journal, &monotonic, &boot) < 0)
                return;
        for (size_t i = 0; i < sizeof(boot.bytes); i++)
                text_printf(&id, "%02x", boot.bytes[i]);
        const Boot *known = VEC_FIND(each, boots, text_equals(each->id, id.string));

        entry.at = journal_format_moment(arena, entry.at_usec);
        entry.boot = id.string;
        if (known)
                entry.boots_ago = HISTORY_NUMBER((size_t) (boots->items + boots->n - 1 - known));
        *vec_push(arena, history) = entry;
}

/* Everybody may write any field, but not the name of his unit: that is journald's own. */
static int match_query(Journal *journal, Arena *arena, const JournalQuery *query,
                       const Boot *boot) {
        int r = match(journal, "_SYSTEMD_UNIT=" NAME_UNIT);

        if (r >= 0 && query->instance)
                r = match(journal, arena_printf(arena, "HUGEPLAN_INSTANCE=%s", query->instance));
        if (r >= 0 && boot)
                r = match(journal, arena_printf(arena, "_BOOT_ID=%s", boot->id));
        if (r < 0)
                return r;
        return query->since_usec > 0
                       ? journal->seek_realtime_usec(journal->journal, query->since_usec)
                       : journal->seek_head(journal->journal);
}

static int read_all(Journal *journal, Arena *arena, const JournalQuery *query,
                    JournalAnswer *answer) {
        Boots boots = find_boots(journal, arena);
        const Boot *boot = wanted_boot(&boots, query);
        int r;

        answer->n_boots = boots.n;
        answer->is_boot_known = boot || !(query->boot || query->boots_ago.is_known);
        if (!answer->is_boot_known)
                return 0;
        r = match_query(journal, arena, query, boot);
        while (r >= 0 && (r = journal->next(journal->journal)) > 0)
                read_entry(journal, arena, &boots, &answer->history);
        history_fold(&answer->history);
        return MIN(r, 0);
}

int journal_read(Command *command, const JournalQuery *query, JournalAnswer *ret) {
        CLEANUP(journal_end) Journal journal = {};
        int r = journal_begin(&journal, root_path(command->arena, command->root, "/"));

        *ret = (JournalAnswer){};
        return r < 0 ? r : read_all(&journal, command->arena, query, ret);
}

/* Where there is no journal nothing is known, which is not that nothing happened. */
const char *journal_why_not(const Command *command, int error, const JournalAnswer *answer) {
        bool is_there = root_is_directory(command->root, PATH_JOURNAL) ||
                        root_is_directory(command->root, PATH_JOURNAL_VOLATILE);

        if (!is_there)
                return "there is no journal on this host: systemd-journald does not run, or keeps nothing";
        if (error == -ENOPKG)
                return "systemd's library (libsystemd.so.0) is not there to read the journal with";
        if (error < 0)
                return strerror(-error);
        if (answer->n_boots == 0 && !root_is_host(command->root))
                return "the captured host's journal is not there, or may not be read";
        if (answer->n_boots == 0)
                return geteuid() == 0
                               ? "the journal has no entries"
                               : "nothing of the journal may be read: run it as root, or as a member of the "
                                 "group systemd-journal";
        return answer->is_boot_known ? NULL
                                     : "it has nothing of that boot; see 'journalctl --list-boots'";
}
