/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/ask.h"

#include "base/text.h"
#include "inspect/confine.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char search_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* ---- access by third parties ---- */

/* A file or directory, identified by an open descriptor. */
typedef struct Pinned {
        int fd;
        struct stat st;
        const char *real; /* its path according to the kernel, without links */
} Pinned;

static const char *say_wrong(Arena *arena, const char *path, int error) {
        return arena_printf(arena, "%s: %s", text_excerpt(arena, path, QUOTE_BYTES_MAX),
                            strerror(error));
}

/* Opens PATH (O_PATH). Returns NULL, or an error message if third parties can write it or a directory above it: if no
 * third party can change these, the path stays valid for as long as the owner and root keep it. */
static const char *pin_closed(Arena *arena, const char *path, const Person *person, Pinned *ret) {
        char real[PATH_MAX];

        ret->fd = open(path, O_PATH);
        if (ret->fd < 0 || fstat(ret->fd, &ret->st) < 0)
                return say_wrong(arena, path, errno);
        ssize_t n = readlink(arena_printf(arena, "/proc/self/fd/%d", ret->fd), real, sizeof(real));

        if (n < 0)
                return say_wrong(arena, path, errno);
        if (n == sizeof(real) || *real != '/')
                return say_wrong(arena, path, ENAMETOOLONG);
        ret->real = arena_strndup(arena, real, (size_t) n);
        const char *why = owner_why_open(arena, &ret->st, person);
        char *part = arena_strdup(arena, ret->real);

        while (!why && part[1]) {
                char *slash = strrchr(part, '/');
                struct stat st;

                slash[slash == part] = '\0'; /* the root directory is the last */
                why = lstat(part, &st) < 0   ? strerror(errno)
                      : !S_ISDIR(st.st_mode) ? "is not a directory"
                                             : owner_why_open(arena, &st, person);
        }
        if (!why)
                return NULL;
        return arena_printf(arena, "%s is not run as %s, because %s %s",
                            text_excerpt(arena, path, QUOTE_BYTES_MAX), person->name,
                            text_excerpt(arena, part, QUOTE_BYTES_MAX), why);
}

/* ---- the program ---- */

static const char *find_program(Arena *arena, const Question *question, const char **ret) {
        Text names = text_in(arena);

        VEC_FOREACH(name, &question->program) {
                if (access(*name, F_OK) == 0) {
                        *ret = *name;
                        return NULL;
                }
                text_add_item(&names, *name);
        }
        return arena_printf(arena, "its program does not exist: %s",
                            text_excerpt(arena, text_string(&names), QUOTE_BYTES_MAX));
}

/* A path that the program reads, as given and with links resolved. */
typedef struct Named {
        const char *path, *real;
} Named;

/* Resolves PATH in "PATH" or "NAME=PATH", because a link that others can change may lead elsewhere later. */
static const char *with_real(Arena *arena, const char *argument, const Named *named) {
        size_t length = named->path ? strlen(named->path) : 0, all = strlen(argument);

        if (length == 0 || !text_ends_with(argument, named->path) ||
            (all > length && argument[all - length - 1] != '='))
                return argument;
        return arena_printf(arena, "%.*s%s", (int) (all - length), argument, named->real);
}

/* The question and the person, for the child. */
typedef struct Errand {
        const Question *question;
        const Person *person;
        Named named[2];
} Errand;

/* Runs in the child, which has only the owner's rights before it looks at the owner's files. */
static const char *find_and_judge(void *userdata, Arena *arena, Program *ret) {
        Errand *errand = userdata;
        Pinned pinned = {.fd = -1};
        const char *path;
        const char *wrong = find_program(arena, errand->question, &path);

        for (size_t i = 0; i < ARRAY_LEN(errand->named) && !wrong; i++) {
                Named *named = &errand->named[i];
                Pinned held = {.fd = -1};

                if (named->path)
                        wrong = pin_closed(arena, named->path, errand->person, &held);
                if (held.fd >= 0)
                        close(held.fd);
                named->real = held.real;
        }
        if (!wrong)
                wrong = pin_closed(arena, path, errand->person, &pinned);
        if (!wrong && (!S_ISREG(pinned.st.st_mode) || (pinned.st.st_mode & (S_ISUID | S_ISGID))))
                wrong = arena_printf(arena, "%s %s", text_excerpt(arena, path, QUOTE_BYTES_MAX),
                                     S_ISREG(pinned.st.st_mode) ? "is set-user-ID or set-group-ID"
                                                                : "is not a regular file");
        if (wrong)
                return wrong;
        const SourceNames *arguments = &errand->question->arguments;
        size_t n = 0;

        ret->fd = pinned.fd;
        ret->arguments = ARENA_ARRAY(arena, char *, arguments->n + 2);
        /* argv[0] is the program's real path, because servers find their other files by it. */
        ret->arguments[n++] = arena_strdup(arena, pinned.real);
        VEC_FOREACH(argument, arguments)
                ret->arguments[n++] = arena_strdup(
                        arena, with_real(arena, with_real(arena, *argument, &errand->named[0]),
                                         &errand->named[1]));
        ret->environment = ARENA_ARRAY(arena, char *, 4);
        ret->environment[0] = arena_printf(arena, "PATH=%s", search_path);
        ret->environment[1] = arena_strdup(arena, "LANG=C.UTF-8");
        ret->environment[2] = arena_printf(arena, "HOME=%s", errand->person->home);
        return NULL;
}

/* Returns the program's name, or the first possible name, with its arguments. */
static const char *title_of(Arena *arena, const Question *question) {
        const char *program;
        Text title = text_in(arena);

        if (find_program(arena, question, &program))
                program = question->program.items[0];
        text_add(&title, text_base_name(program));
        VEC_FOREACH(argument, &question->arguments)
                text_printf(&title, " %s", *argument);
        return text_excerpt(arena, title.string, QUOTE_BYTES_MAX);
}

const char *ask(const Root *root, Arena *arena, const Question *question, const char *config_file,
                uint64_t timeout_usec, char **ret_output) {
        Person person = {};
        Errand errand = {
                .question = question,
                .person = &person,
                .named = {{.path = config_file}, {.path = question->data_directory}},
        };

        if (!root_is_host(root) || root_recorder(root))
                return "no program is run for a captured host or for a snapshot";
        if (question->untrusted)
                return question->untrusted;
        const char *wrong = NULL;

        /* For QUESTION_ANYBODY, a process that is not root asks as its own user. */
        if (text_equals(question->user, QUESTION_ANYBODY) && geteuid() != 0)
                owner_ourselves(arena, &person);
        else if (question->user)
                wrong = owner_find_user(arena, question->user, &person);
        else if (!question->data_directory ||
                 !owner_of_path(arena, question->data_directory, &person))
                wrong = arena_printf(
                        arena, "the owner of %s is not known; name it in User=",
                        question->data_directory
                                ? text_excerpt(arena, question->data_directory, QUOTE_BYTES_MAX)
                                : "the database");
        if (!wrong && person.uid == 0)
                wrong = "it belongs to root, and no database is asked as root; name its "
                        "owner in User=";
        if (!wrong && geteuid() != 0 && geteuid() != person.uid)
                wrong = arena_printf(arena, "only root and %s may ask it", person.name);
        if (wrong)
                return wrong;
        const Confinement run = {
                .title = title_of(arena, question),
                .person = &person,
                .timeout_usec = timeout_usec,
                .output_bytes_max = ASK_OUTPUT_BYTES_MAX,
                .find = find_and_judge,
                .userdata = &errand,
        };
        char *output = NULL;
        size_t size = 0;

        wrong = confine(arena, &run, &output, &size);
        if (!wrong && strlen(output) != size)
                wrong = arena_printf(arena, "%s answered with something that is not text",
                                     run.title);
        if (!wrong)
                *ret_output = output;
        return wrong;
}
