/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `snapshot`: the files of this host that hugeplanctl's verbs read, as an archive for --root=. The root records what is
 * read while verbs run that together read all that any verb reads (run_snapshot.py). The archive has the used part. */
#include "ctl/verbs.h"
#include "inspect/kept.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "runtime/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Runs verbs as a user would, without their output. */
static int look_silently(const Command *command) {
        static int (*const looks[])(Command * command) = {verb_cmdline, verb_report};
        const int outputs[] = {STDOUT_FILENO, STDERR_FILENO};
        char *text;
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC), kept[ARRAY_LEN(outputs)];

        if (null < 0)
                return -errno;
        fflush(stdout);
        for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
                kept[i] = fcntl(outputs[i], F_DUPFD_CLOEXEC, 3);
                dup2(null, outputs[i]);
        }
        /* `check` reads this file as the plan would leave it. */
        root_read_file(command->root, command->arena, PATH_PAM_LIMITS, RECORDING_BYTES_MAX, &text,
                       NULL);
        ARRAY_FOREACH(run, looks, ARRAY_LEN(looks)) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                Command quiet = {
                        .arena = arena,
                        .root_name = command->root_name,
                        .root = command->root,
                        .json = *run == verb_report ? JSON_SHORT : JSON_OFF, /* needs no template */
                };

                (*run)(&quiet);
        }
        fflush(stdout);
        for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
                dup2(kept[i], outputs[i]);
                close(kept[i]);
        }
        close(null);
        return 0;
}

/* Only the owner may read the file, because it has much about the host. */
static int write_new_file(const char *path, const char *bytes, size_t size) {
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, 0600);

        if (fd < 0)
                return -errno;
        int r = 0;

        for (size_t at = 0; r == 0 && at < size;) {
                ssize_t n = TEMP_FAILURE_RETRY(write(fd, bytes + at, size - at));

                r = n < 0 ? -errno : 0;
                at += n > 0 ? (size_t) n : 0;
        }
        if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
                r = -errno;
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r < 0)
                unlink(path);
        return r;
}

int verb_snapshot(Command *command) {
        const char *path = command->arguments[0];
        Recording recording = recording_in(command->arena);

        if (open_output(command, path, true, NULL) != EXIT_DONE)
                return EXIT_FAILED;
        root_record(command->root, &recording.recorder);
        int r = look_silently(command);

        root_record(command->root, NULL);
        const RecordedTree tree = recording_tree(command->arena, &recording);

        kept_tree(command->arena, &tree);
        size_t size;
        const char *archive = recording_archive(command->arena, &tree, &size);

        if (r == 0)
                r = write_new_file(path, archive, size);
        if (r < 0)
                return fail_to_write(path, strerror(-r));
        if (recording.is_full)
                log_line(LOG_WARNING, "%s is not complete: more than %s was read", path,
                         format_size(command->arena, RECORDING_BYTES_MAX));
        const char *files = format_count(command->arena, tree.n);

        if (command->json == JSON_OFF)
                printf("%s: %s names and files, %s. It contains only the parts of files "
                       "that hugeplan uses. Review it before you pass it on.\n",
                       path, files, format_size(command->arena, size));
        else
                print_json(command, json_pack("{ss si sb}", "file", path, "files", (int) tree.n,
                                              "complete", !recording.is_full));
        return EXIT_DONE;
}
