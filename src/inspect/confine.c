/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/confine.h"

#include "base/size.h"
#include "base/text.h"
#include "host/record/recording_json.h"
#include "runtime/clock.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
        COMPLAINT_BYTES_MAX = 4096, /* of standard error */
        SENTENCE_BYTES_MAX = 200,   /* of a quotation */
        FAILURE_BYTES_MAX = 560,    /* of the reason why the child did not run */
        DRAIN_READS_MAX = 32,
        TICK_MSEC = 10,
        CAPABILITIES_MAX = 64,
        /* Descriptor numbers in the child. */
        FAILURE_FD = 3,
        SPARE_FD = 10,
};

static const uint64_t death_usec = 2 * USEC_PER_SEC;

typedef struct Run {
        Arena *arena;
        const Confinement *how;
        pid_t pid;
        int output, complaint, failure; /* the parent's ends of the pipes */
        Text printed, complained;
        bool is_flood;
} Run;

/* ---- in the child, which never returns ---- */

/* Reports why the child did not run, as a sentence. */
static void fail_with(const char *sentence) {
        (void) !write(FAILURE_FD, sentence, strlen(sentence));
        _exit(127);
}

static void fail(const char *step) {
        char sentence[SENTENCE_BYTES_MAX];

        snprintf(sentence, sizeof(sentence), "cannot %s: %s", step, strerror(errno));
        fail_with(sentence);
}

static void connect_streams(int output, int complaint, int failure) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        int spare = fcntl(failure, F_DUPFD_CLOEXEC, SPARE_FD);

        if (spare < 0 || dup3(spare, FAILURE_FD, O_CLOEXEC) < 0)
                _exit(127);
        if (null < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(complaint, STDERR_FILENO) < 0)
                fail("connect it");
        if (null != STDIN_FILENO && dup2(null, STDIN_FILENO) < 0)
                fail("connect it");
        closefrom(FAILURE_FD + 1);
}

#if defined(__SANITIZE_ADDRESS__)
#        define IS_SANITIZED 1
#elif defined(__has_feature)
#        if __has_feature(address_sanitizer)
#                define IS_SANITIZED 1
#        endif
#endif
#ifndef IS_SANITIZED
#        define IS_SANITIZED 0
#endif

static void limit(const Confinement *how) {
        bool is_reader = how->read;
        const struct {
                __rlimit_resource_t resource;
                rlim_t value;
        } limits[] = {
                {RLIMIT_CORE, 0},
                {RLIMIT_CPU, how->timeout_usec / USEC_PER_SEC + 1},
                {RLIMIT_FSIZE, is_reader ? 0 : MIB},
                {RLIMIT_NOFILE, is_reader ? 64 : 1024},
                /* A sanitizer's shadow memory takes terabytes of address space. */
                {RLIMIT_AS, IS_SANITIZED ? RLIM_INFINITY : (rlim_t) (is_reader ? GIB : 16 * GIB)},
                /* The kernel counts a program's processes together with all others of its user. */
                {RLIMIT_NPROC, is_reader ? 0 : RLIM_INFINITY},
        };

        for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
                struct rlimit both;

                /* A limit that is already lower is kept. */
                if (getrlimit(limits[i].resource, &both) < 0)
                        fail("limit it");
                both.rlim_max = MIN(both.rlim_max, limits[i].value);
                both.rlim_cur = MIN(both.rlim_cur, both.rlim_max);
                if (setrlimit(limits[i].resource, &both) < 0)
                        fail("limit it");
        }
}

static void become(const Person *person) {
        bool is_root = geteuid() == 0;
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {}, all[2];

        for (unsigned long i = 0; is_root && i < CAPABILITIES_MAX; i++)
                prctl(PR_CAPBSET_DROP, i, 0, 0, 0); /* needs CAP_SETPCAP */
        if (is_root && (setgroups((size_t) person->n_groups, person->groups) < 0 ||
                        setresgid(person->gid, person->gid, person->gid) < 0 ||
                        setresuid(person->uid, person->uid, person->uid) < 0))
                fail("become its owner");
        /* If the secure bits include "keep capabilities", a change of user does not drop them. A process without
         * capabilities skips capset(2), which hugeplan's own unit does not allow. */
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if ((syscall(SYS_capget, &header, all) < 0 || memcmp(all, none, sizeof(all)) != 0) &&
            syscall(SYS_capset, &header, none) < 0)
                fail("drop capabilities");
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                fail("drop privileges");
        errno = EPERM;
        if (is_root && (person->uid == 0 || setresuid((uid_t) -1, 0, (uid_t) -1) == 0 ||
                        setresgid((gid_t) -1, 0, (gid_t) -1) == 0))
                fail("drop privileges for good");
}

static void run_child(const Confinement *how, int output, int complaint, int failure,
                      pid_t parent) {
        sigset_t none;

        connect_streams(output, complaint, failure);
        for (int number = 1; number < NSIG; number++)
                signal(number, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        umask(077);
        if (setsid() < 0 || chdir("/") < 0)
                fail("give it a session");
        /* Processes that possess the caller's keyring can read the keys in it. */
        if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
            errno != EPERM)
                fail("give it a keyring");
        limit(how);
        become(how->person);
        /* The child must not outlive the parent; set here, because a change of user clears the setting. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(127);
        if (how->read) {
                clearenv();
                if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                        fail("hide its memory");
                close(FAILURE_FD);
                how->read(how->userdata, STDOUT_FILENO);
                _exit(0);
        }
        /* The program is run by the descriptor that was checked; a script is read through it too. */
        Program program = {.fd = -1};
        const char *wrong = how->find(how->userdata, arena_new(), &program);

        if (wrong)
                fail_with(wrong);
        execveat(program.fd, "", program.arguments, program.environment, AT_EMPTY_PATH);
        fail("run it");
}

/* ---- in the parent ---- */

static void close_fd(int *fd) {
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

/* Keeps pipes off descriptors 0 to 2, which would be taken for standard streams if those are closed here. */
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

static int start(Run *run) {
        CLEANUP(close_fd) int output = -1, complaint = -1, failure = -1;
        pid_t parent = getpid();
        int r = make_pipe(&run->output, &output);

        if (r == 0)
                r = make_pipe(&run->complaint, &complaint);
        if (r == 0)
                r = make_pipe(&run->failure, &failure);
        if (r < 0)
                return r;
        signal(SIGCHLD, SIG_DFL); /* if it is ignored, the kernel discards exit statuses */
        run->pid = fork();
        if (run->pid == 0)
                run_child(run->how, output, complaint, failure, parent);
        return run->pid < 0 ? -errno : 0;
}

/* Reads once; at the end of the stream closes its descriptor. */
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

static bool has_ended(const Run *run) {
        siginfo_t info = {};

        /* The child stays a zombie, so that its PID is not reused while its session is killed. */
        return waitid(P_PID, (id_t) run->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
               info.si_pid != 0;
}

/* Waits for the child's end, even if other processes hold its pipes. Returns false if the child must be killed. */
static bool wait_for_end(Run *run, uint64_t deadline_usec) {
        while (!run->is_flood) {
                struct pollfd fds[] = {{run->output, POLLIN, 0}, {run->complaint, POLLIN, 0}};
                bool is_ended = has_ended(run);
                bool is_more = true, is_full = false;

                for (int i = 0; i < DRAIN_READS_MAX && is_more && !run->is_flood; i++) {
                        is_more = read_some(&run->complaint, &run->complained, COMPLAINT_BYTES_MAX,
                                            &is_full);
                        is_more = read_some(&run->output, &run->printed, run->how->output_bytes_max,
                                            &run->is_flood) ||
                                  is_more;
                }
                if (is_ended)
                        return !run->is_flood;
                if (clock_now_usec() >= deadline_usec)
                        return false;
                poll(fds, ARRAY_LEN(fds), TICK_MSEC);
        }
        return false;
}

/* Returns how the child ended, with the first line of its standard error, or NULL if it succeeded. */
static const char *judge_end(const Run *run, int status) {
        Arena *arena = run->arena;
        const char *rest = text_string(&run->complained),
                   *line = text_next_word(arena, &rest, "\r\n");

        if (status == 0)
                return NULL;
        return arena_printf(
                arena, WIFSIGNALED(status) ? "%s was ended by signal %d%s" : "%s ended with %d%s",
                run->how->title, WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                line ? text_quote(arena, ", and printed", text_strip(arena, line))
                     : ", and printed nothing");
}

static const char *finish(Run *run) {
        Arena *arena = run->arena;
        const char *title = run->how->title, *wrong = NULL;
        uint64_t timeout_usec = run->how->timeout_usec;
        bool has_finished = wait_for_end(run, add_saturated(clock_now_usec(), timeout_usec));
        char buffer[FAILURE_BYTES_MAX];
        /* The child's own report of why it did not run. */
        ssize_t n = has_finished ? read(run->failure, buffer, sizeof(buffer)) : 0;
        int status = 0;

        if (n > 0) {
                wrong = text_excerpt(arena, arena_strndup(arena, buffer, (size_t) n),
                                     FAILURE_BYTES_MAX);
                if (text_starts_with(wrong, "cannot "))
                        wrong = arena_printf(arena, "%s: %s", title, wrong);
        }
        kill(-run->pid, SIGKILL); /* and the processes it started */
        kill(run->pid, SIGKILL);  /* its session may not exist yet */
        /* A process that hangs in the kernel dies later and is reaped after this process has ended. */
        for (uint64_t deadline_usec = clock_now_usec() + death_usec; !has_ended(run);
             poll(NULL, 0, TICK_MSEC))
                if (clock_now_usec() >= deadline_usec)
                        return arena_printf(arena, "%s cannot be stopped", title);
        while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (run->is_flood)
                return arena_printf(arena, "%s was stopped: it prints more than %s", title,
                                    format_size(arena, run->how->output_bytes_max));
        if (!has_finished)
                return arena_printf(arena, "%s was stopped: it gave no answer within %s", title,
                                    format_duration(arena, timeout_usec));
        return wrong ? wrong : judge_end(run, status);
}

const char *confine(Arena *arena, const Confinement *confinement, char **ret, size_t *ret_size) {
        Run run = {
                .arena = arena,
                .how = confinement,
                .output = -1,
                .complaint = -1,
                .failure = -1,
                .printed = text_in(arena),
                .complained = text_in(arena),
        };
        int r = start(&run);
        const char *wrong = r < 0 ? arena_printf(arena, "%s cannot be run: %s", confinement->title,
                                                 strerror(-r))
                                  : finish(&run);

        close_fd(&run.output);
        close_fd(&run.complaint);
        close_fd(&run.failure);
        if (wrong)
                return wrong;
        text_add(&run.printed, "");
        *ret = run.printed.string;
        *ret_size = run.printed.length;
        return NULL;
}

/* ---- readers, which answer in JSON ---- */

static const size_t answer_bytes_max = (size_t) 1 << 20;
static const size_t recorded_bytes_max = (size_t) 64 << 20;

typedef struct Errand {
        const Person *person;
        ReaderMake make;
        void *userdata;
        bool is_recorded;
} Errand;

static void run_errand(void *userdata, int output) {
        const Errand *errand = userdata;
        Arena *arena = arena_new();
        Root *root;

        if (root_open("/", &root) < 0)
                _exit(1);
        HostSources sources = host_sources(root, arena);

        sources.kind = SOURCES_OF_OWNER;
        sources.owner = errand->person->uid;
        sources.group = errand->person->gid;
        Recording recording = recording_in(arena);

        if (errand->is_recorded)
                root_record(root, &recording.recorder);
        json_t *answer = errand->make(errand->userdata, arena, &sources);

        if (errand->is_recorded)
                answer = json_pack("[oo]", answer, recording_to_json(arena, &recording));
        FILE *stream = fdopen(output, "w");

        if (!stream || json_dumpf(answer, stream, JSON_COMPACT) < 0 || fclose(stream) != 0)
                _exit(1);
}

const char *reader_ask(const Root *root, Arena *arena, const Person *person, uint64_t timeout_usec,
                       ReaderMake make, void *userdata, json_t **ret) {
        Recorder *recorder = root_recorder(root);
        Errand errand = {person, make, userdata, recorder};
        const Confinement reader = {
                .title = arena_printf(arena, "reading its files as %s",
                                      text_excerpt(arena, person->name, 64)),
                .person = person,
                .timeout_usec = timeout_usec,
                .output_bytes_max = recorder ? recorded_bytes_max : answer_bytes_max,
                .read = run_errand,
                .userdata = &errand,
        };
        char *text = NULL;
        size_t size = 0;
        const char *wrong = confine(arena, &reader, &text, &size);

        if (wrong)
                return wrong;
        *ret = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        if (*ret && recorder) {
                /* A recording reader answers with both. */
                json_auto_t *both = *ret;
                const json_t *recorded;

                *ret = NULL;
                if (json_unpack(both, "[Oo!]", ret, &recorded) >= 0)
                        recorded_from_json(recorder, arena, recorded);
        }
        return *ret ? NULL : READER_NO_ANSWER;
}
