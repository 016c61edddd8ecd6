/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the journal with systemd's own library, which is loaded only here: a gate must not wait for that at boot. */
#include "ctl/observe/observe.h"

#include "base/text.h"
#include "host/probe.h"
#include "model/names.h"

#include <dlfcn.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#define CALLS(X)                                                  \
        X(open_directory) X(close) X(add_match) X(seek_head)      \
        X(next) X(get_realtime_usec) X(restart_data) X(enumerate_data)
/* clang-format on */

typedef struct Journal {
        void *library;
        sd_journal *journal;
#define X(call) typeof(sd_journal_##call) *call;
        CALLS(X)
#undef X
} Journal;

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

/* Adds FIELD to the matches that restrict the journal, and goes to its beginning. */
static int restrict_to(Journal *journal, const char *field) {
        int r = journal->add_match(journal->journal, field, strlen(field));

        return r < 0 ? r : journal->seek_head(journal->journal);
}

const char *journal_format_moment(Arena *arena, uint64_t usec) {
        time_t seconds = (time_t) (usec / USEC_PER_SEC);
        char text[sizeof("2026-12-31 23:59:59") + 16];
        struct tm local;

        if (!localtime_r(&seconds, &local) ||
            strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local) == 0)
                return "-";
        return arena_strdup(arena, text);
}

/* Returns -ENODATA if there are no entries of this boot, or none that may be read. Entries are matched by the unit's
 * name, because journald adds that field itself and any process can write any other field. */
static int read_all(Command *command, Journal *journal, HistoryEntries *history) {
        Arena *arena = command->arena;
        const char *boot_id = probe_text(command->root, arena, PATH_BOOT_ID);
        Text boot = text_in(arena);
        int r = journal_begin(journal, root_path(arena, command->root, "/"));

        /* Unlike the kernel, the journal writes the identifier without hyphens. */
        text_add(&boot, "_BOOT_ID=");
        TEXT_FOREACH(word, arena, boot_id, "-")
                text_add(&boot, word);
        if (r >= 0)
                r = restrict_to(journal, boot.string);
        if (r >= 0)
                r = journal->next(journal->journal);
        if (r == 0)
                return -ENODATA;
        if (r > 0)
                r = restrict_to(journal, "_SYSTEMD_UNIT=" NAME_UNIT);
        while (r >= 0 && (r = journal->next(journal->journal)) > 0) {
                HistoryEntry entry = {};
                const void *data;
                size_t length;

                journal->restart_data(journal->journal);
                while (journal->enumerate_data(journal->journal, &data, &length) > 0)
                        history_take_field(arena, &entry, data, length);
                if (!entry.event ||
                    journal->get_realtime_usec(journal->journal, &entry.at_usec) < 0)
                        continue;
                entry.at = journal_format_moment(arena, entry.at_usec);
                *vec_push(arena, history) = entry;
        }
        history_fold(history);
        return r;
}

static const char *explain_missing(const Command *command, bool is_there, int error) {
        if (!is_there)
                return "there is no journal on this host: systemd-journald does not run, or stores nothing";
        if (error == -ENOPKG)
                return "systemd's library (libsystemd.so.0), which reads the journal, is not installed";
        if (error != -ENODATA)
                return strerror(-error);
        return geteuid() == 0 || !root_is_host(command->root)
                       ? "the journal has no entries of this boot, or may not be read"
                       : "the journal may not be read: run this as root, or as a member of "
                         "the group systemd-journal";
}

const HistoryEntries *journal_read(Command *command) {
        CLEANUP(journal_end) Journal journal = {};
        HistoryEntries *history = ARENA_NEW(command->arena, HistoryEntries);
        bool is_there = root_is_directory(command->root, PATH_JOURNAL) ||
                        root_is_directory(command->root, PATH_JOURNAL_VOLATILE);
        int r = is_there ? read_all(command, &journal, history) : -ENOENT;

        history->missing = r < 0 ? explain_missing(command, is_there, r) : NULL;
        return history;
}
