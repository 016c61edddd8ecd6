/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/ask.h"

#include "base/size.h"
#include "base/text.h"
#include "host/clock.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
        GROUPS_MAX = 256,
        COMPLAINT_BYTES_MAX = 4096, /* kept of standard error */
        SENTENCE_BYTES_MAX = 200,   /* of what is quoted */
        DRAIN_READS_MAX = 32,
        OPEN_FILES_MAX = 65536,
        TICK_MSEC = 10,
        FILE_BYTES_MAX = 1 << 20, /* of what the program itself may write */
};

static const char search_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* ---- as whom ---- */

typedef struct Person {
        uid_t uid;
        gid_t gid;
        const char *name;
        const char *home;
        gid_t groups[GROUPS_MAX];
        int n_groups;
} Person;

static void take_entry(Arena *arena, const struct passwd *entry, Person *ret) {
        ret->uid = entry->pw_uid;
        ret->gid = entry->pw_gid;
        ret->name = arena_strdup(arena, entry->pw_name);
        ret->home = arena_strdup(arena, entry->pw_dir);
        ret->n_groups = GROUPS_MAX;
        if (getgrouplist(entry->pw_name, entry->pw_gid, ret->groups, &ret->n_groups) < 0)
                ret->n_groups = 0; /* more than anybody needs to answer a question */
}

static const char *find_user(Arena *arena, const char *name, Person *ret) {
        const struct passwd *entry = getpwnam(name);
        uint64_t number;

        if (!entry && parse_u64(name, &number) == 0 && number < UINT32_MAX)
                entry = getpwuid((uid_t) number);
        if (!entry)
                return arena_printf(arena, "there is no user '%s'", text_excerpt(arena, name, 64));
        take_entry(arena, entry, ret);
        return NULL;
}

static const char *find_owner(Arena *arena, const char *directory, Person *ret) {
        struct stat st;

        if (stat(directory, &st) < 0)
                return arena_printf(arena, "%s: %s",
                                    text_excerpt(arena, directory, SENTENCE_BYTES_MAX),
                                    strerror(errno));
        const struct passwd *entry = getpwuid(st.st_uid);

        if (entry) {
                take_entry(arena, entry, ret);
                return NULL;
        }
        *ret = (Person){
                .uid = st.st_uid,
                .gid = st.st_gid,
                .name = arena_printf(arena, "%u", st.st_uid),
                .home = "/",
        };
        return NULL;
}

static const char *find_person(Arena *arena, const Question *question, Person *ret) {
        if (question->user)
                return find_user(arena, question->user, ret);
        if (question->data_directory)
                return find_owner(arena, question->data_directory, ret);
        return "it is not known whose database it is; name the owner in User=";
}

/* ---- who else could have written it ---- */

static const char *why_open(Arena *arena, const struct stat *st, const Person *person) {
        bool is_shielded = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

        if (st->st_uid != 0 && st->st_uid != person->uid)
                return arena_printf(arena, "belongs to user %u", st->st_uid);
        if ((st->st_mode & S_IWOTH) && !is_shielded)
                return "can be written by everyone";
        if ((st->st_mode & S_IWGRP) && !is_shielded && st->st_gid != 0 && st->st_gid != person->gid)
                return arena_printf(arena, "can be written by group %u", st->st_gid);
        return NULL;
}

/* PATH, without links, and every directory above it. */
static const char *check_closed(Arena *arena, const char *path, const Person *person) {
        char real[PATH_MAX];

        if (!realpath(path, real))
                return arena_printf(arena, "%s: %s", text_excerpt(arena, path, SENTENCE_BYTES_MAX),
                                    strerror(errno));
        for (size_t length = strlen(real); length > 0; length--) {
                char *part = arena_strndup(arena, real, length);
                struct stat st;

                if (length > 1 && real[length] != '\0' && real[length] != '/')
                        continue;
                const char *why = lstat(part, &st) < 0 ? strerror(errno)
                                                       : why_open(arena, &st, person);

                if (why)
                        return arena_printf(
                                arena, "%s is not used with the rights of %s, for %s %s",
                                text_excerpt(arena, path, SENTENCE_BYTES_MAX), person->name,
                                text_excerpt(arena, part, SENTENCE_BYTES_MAX), why);
        }
        return NULL;
}

/* ---- the program ---- */

typedef struct Run {
        Arena *arena;
        const char *program;
        const char *title; /* for sentences: its name and arguments */
        char **arguments;
        char **environment;
        const Person *person;
        pid_t pid;
        int output, complaint, failure; /* our ends of its pipes */
        Text printed, complained;
        bool is_flood;
} Run;

static const char *find_program(Arena *arena, const Question *question, const char **ret) {
        Text names = text_in(arena);

        VEC_FOREACH(name, &question->program) {
                if (access(*name, F_OK) == 0) {
                        *ret = *name;
                        return NULL;
                }
                text_add_item(&names, *name);
        }
        return arena_printf(arena, "its program is not there: %s",
                            text_excerpt(arena, text_string(&names), SENTENCE_BYTES_MAX));
}

static void prepare(Run *run, const Question *question) {
        Arena *arena = run->arena;
        const char *slash = strrchr(run->program, '/');
        Text title = text_in(arena);
        size_t n = 0;

        run->arguments = ARENA_ARRAY(arena, char *, question->arguments.n + 2);
        run->arguments[n++] = arena_strdup(arena, run->program);
        text_add(&title, slash ? slash + 1 : run->program);
        VEC_FOREACH(argument, &question->arguments) {
                run->arguments[n++] = arena_strdup(arena, *argument);
                text_printf(&title, " %s", *argument);
        }
        run->title = text_excerpt(arena, title.string, SENTENCE_BYTES_MAX);
        run->environment = ARENA_ARRAY(arena, char *, 4);
        run->environment[0] = arena_printf(arena, "PATH=%s", search_path);
        run->environment[1] = arena_printf(arena, "LANG=%s", "C.UTF-8");
        run->environment[2] = arena_printf(arena, "HOME=%s", run->person->home);
}

/* ---- in the child: nothing here may allocate or return ---- */

/* What went wrong before the program ran. */
typedef struct Failure {
        int error;
        char step[28];
} Failure;

static void fail(int fd, const char *step) {
        Failure failure = {.error = errno};

        strncpy(failure.step, step, sizeof(failure.step) - 1);
        (void) !write(fd, &failure, sizeof(failure));
        _exit(127);
}

static void close_others_on_exec(void) {
        struct rlimit files;

        if (syscall(SYS_close_range, 3, UINT_MAX, 1U << 2 /* CLOSE_RANGE_CLOEXEC */) == 0)
                return;
        /* Linux < 5.11 */
        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur > OPEN_FILES_MAX)
                files.rlim_cur = OPEN_FILES_MAX;
        for (int fd = 3; fd < (int) files.rlim_cur; fd++)
                fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void reset_signals(void) {
        sigset_t none;

        for (int number = 1; number < NSIG; number++)
                signal(number, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

static void limit(int failure, uint64_t timeout_usec) {
        const struct {
                __rlimit_resource_t resource;
                rlim_t value;
        } limits[] = {
                {RLIMIT_CORE, 0},
                {RLIMIT_CPU, timeout_usec / USEC_PER_SEC + 1},
                {RLIMIT_FSIZE, FILE_BYTES_MAX},
        };

        for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
                struct rlimit both = {limits[i].value, limits[i].value};

                /* A limit that is lower already may stay. */
                if (setrlimit(limits[i].resource, &both) < 0 && errno != EPERM)
                        fail(failure, "limit it");
        }
}

/* With "keep capabilities" among the secure bits, a change of user would not drop them. */
static void drop_capabilities(int failure) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {};

        if (syscall(SYS_capset, &header, none) < 0)
                fail(failure, "drop capabilities");
}

static void become(int failure, const Person *person) {
        if (geteuid() == 0 && (setgroups((size_t) person->n_groups, person->groups) < 0 ||
                               setresgid(person->gid, person->gid, person->gid) < 0 ||
                               setresuid(person->uid, person->uid, person->uid) < 0))
                fail(failure, "become its owner");
        drop_capabilities(failure);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                fail(failure, "give up rights");
}

static void run_program(const Run *run, int output, int complaint, int failure, pid_t parent,
                        uint64_t timeout_usec) {
        int null = open("/dev/null", O_RDONLY);

        if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
            dup2(complaint, STDERR_FILENO) < 0)
                fail(failure, "connect it");
        close_others_on_exec();
        reset_signals();
        umask(077);
        if (setsid() < 0 || chdir("/") < 0)
                fail(failure, "give it a session");
        limit(failure, timeout_usec);
        become(failure, run->person);
        /* Not to outlive us; a change of user clears it. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(127);
        execve(run->program, run->arguments, run->environment);
        fail(failure, "run it");
}

/* ---- in the parent ---- */

static void close_fd(int *fd) {
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

/* Descriptors of the standard streams that are closed here would be taken for pipes. */
static int make_pipe(int *ret_ours, int *ret_theirs) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        *ret_ours = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
        *ret_theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
        close(ends[0]);
        close(ends[1]);
        if (*ret_ours < 0 || *ret_theirs < 0)
                return -errno;
        return fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int start(Run *run, uint64_t timeout_usec) {
        CLEANUP(close_fd) int output = -1, complaint = -1, failure = -1;
        pid_t parent = getpid();
        int r = make_pipe(&run->output, &output);

        if (r == 0)
                r = make_pipe(&run->complaint, &complaint);
        if (r == 0)
                r = make_pipe(&run->failure, &failure);
        if (r < 0)
                return r;
        signal(SIGCHLD, SIG_DFL); /* where it is ignored, nobody learns how a child has ended */
        run->pid = fork();
        if (run->pid == 0)
                run_program(run, output, complaint, failure, parent, timeout_usec);
        return run->pid < 0 ? -errno : 0;
}

/* One read; at the end of the stream its descriptor is closed. */
static bool read_some(int *fd, Text *text, size_t max, bool *ret_is_full) {
        char buffer[4096];
        ssize_t n = *fd < 0 ? -1 : read(*fd, buffer, sizeof(buffer));

        if (n <= 0) {
                if (n == 0)
                        close_fd(fd);
                return false;
        }
        *ret_is_full = text->length + (size_t) n > max;
        text_add_n(text, buffer, MIN((size_t) n, max - text->length));
        return true;
}

static void read_streams(Run *run) {
        bool is_more = true, is_full = false;

        for (int i = 0; i < DRAIN_READS_MAX && is_more && !run->is_flood; i++) {
                is_more =
                        read_some(&run->complaint, &run->complained, COMPLAINT_BYTES_MAX, &is_full);
                is_more = read_some(&run->output, &run->printed, ASK_OUTPUT_BYTES_MAX,
                                    &run->is_flood) ||
                          is_more;
        }
}

static bool has_ended(const Run *run) {
        siginfo_t info = {};

        /* It stays a zombie, so that its number is nobody else's while its session is killed. */
        return waitid(P_PID, (id_t) run->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
               info.si_pid != 0;
}

/* Until it has ended, whoever else may still hold its pipes; false: it had to be stopped. */
static bool wait_for_end(Run *run, uint64_t deadline_usec) {
        while (!run->is_flood) {
                struct pollfd fds[] = {{run->output, POLLIN, 0}, {run->complaint, POLLIN, 0}};
                bool is_ended = has_ended(run);

                read_streams(run);
                if (is_ended)
                        return !run->is_flood;
                if (clock_now_usec() >= deadline_usec)
                        return false;
                poll(fds, ARRAY_LEN(fds), TICK_MSEC);
        }
        return false;
}

static const char *first_line(Arena *arena, const Text *text) {
        const char *rest = text_string(text);
        const char *line = text_next_word(arena, &rest, "\r\n");

        return line ? text_excerpt(arena, text_strip(arena, line), SENTENCE_BYTES_MAX)
                    : "it says nothing";
}

static const char *why_not_run(const Run *run) {
        Failure failure;

        if (read(run->failure, &failure, sizeof(failure)) != (ssize_t) sizeof(failure))
                return NULL;
        failure.step[sizeof(failure.step) - 1] = '\0';
        return arena_printf(run->arena, "%s: cannot %s: %s", run->title, failure.step,
                            strerror(failure.error));
}

static const char *judge_end(const Run *run, int status) {
        Arena *arena = run->arena;

        if (WIFSIGNALED(status))
                return arena_printf(arena, "%s was ended by signal %d: %s", run->title,
                                    WTERMSIG(status), first_line(arena, &run->complained));
        if (WEXITSTATUS(status) != 0)
                return arena_printf(arena, "%s ended with %d: %s", run->title, WEXITSTATUS(status),
                                    first_line(arena, &run->complained));
        if (strlen(text_string(&run->printed)) != run->printed.length)
                return arena_printf(arena, "%s answers with what is no text", run->title);
        return NULL;
}

static const char *finish(Run *run, uint64_t timeout_usec) {
        Arena *arena = run->arena;
        bool has_finished = wait_for_end(run, add_saturated(clock_now_usec(), timeout_usec));
        const char *wrong = has_finished ? why_not_run(run) : NULL;
        int status = 0;

        kill(-run->pid, SIGKILL); /* what it has left behind, too */
        kill(run->pid, SIGKILL);  /* it may not have had its session yet */
        while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (run->is_flood)
                return arena_printf(arena, "%s was stopped: it prints more than %s", run->title,
                                    format_size(arena, ASK_OUTPUT_BYTES_MAX));
        if (!has_finished)
                return arena_printf(arena, "%s was stopped: it gave no answer within %s",
                                    run->title, format_duration(arena, timeout_usec));
        return wrong ? wrong : judge_end(run, status);
}

static const char *run_it(Run *run, uint64_t timeout_usec, char **ret_output) {
        int r = start(run, timeout_usec);
        const char *wrong =
                r < 0 ? arena_printf(run->arena, "%s cannot be run: %s", run->title, strerror(-r))
                      : finish(run, timeout_usec);

        close_fd(&run->output);
        close_fd(&run->complaint);
        close_fd(&run->failure);
        if (!wrong)
                *ret_output = arena_strdup(run->arena, text_string(&run->printed));
        return wrong;
}

const char *ask(const Root *root, Arena *arena, const Question *question, const char *config_file,
                uint64_t timeout_usec, char **ret_output) {
        Person person = {};
        Run run = {
                .arena = arena,
                .person = &person,
                .output = -1,
                .complaint = -1,
                .failure = -1,
                .printed = text_in(arena),
                .complained = text_in(arena),
        };

        if (!root_is_host(root))
                return "no program is run for a captured host";
        const char *wrong = find_program(arena, question, &run.program);

        if (!wrong)
                wrong = find_person(arena, question, &person);
        if (!wrong && geteuid() != 0 && geteuid() != person.uid)
                wrong = arena_printf(arena, "only root%s%s may ask it", person.uid ? " and " : "",
                                     person.uid ? person.name : "");
        if (!wrong)
                wrong = check_closed(arena, run.program, &person);
        if (!wrong && config_file)
                wrong = check_closed(arena, config_file, &person);
        if (wrong)
                return wrong;
        prepare(&run, question);
        return run_it(&run, timeout_usec, ret_output);
}
