/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `listen NAME`: hugeplan-learn@.service, which keeps what the owner of a database says that it needs
 * (verb_ask.c), and what somebody who may look into its processes says that it has mapped (verb_look.c).
 *
 * Who says what is known by the door: a socket for each of them, in a directory of root's, to which systemd
 * connects them, and nobody else can connect. A connection is all that this process, which is root without
 * capabilities, has of them: no file to be found later or filled up, no path of theirs. What comes is
 * bounded in size and time, and taken apart strictly (demand/seen_json.h). Who waits for us
 * sees the connection end.
 *
 * Each is heard by a process of its own: an owner who says nothing, or whose reservation takes its time, keeps nobody
 * from being heard whose unit is about to stop. */
#include "ctl/learn/learn.h"
#include "ctl/learn/look.h"
#include "ctl/verbs.h"
#include "demand/seen_json.h"
#include "ipc/varlink_server.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "runtime/deadline.h"
#include "runtime/log.h"
#include "runtime/service.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Door {
        const char *name;
        const char *who;
        size_t bytes_max;
        uint64_t timeout_usec;
        void (*take)(Command *command, const char *name, const char *answer, size_t size,
                     const char *wrong, uint64_t timeout_usec);
} Door;

static const Door doors[] = {
        {NAME_ANSWER_SEEN, "hugeplan-look@.service, which looks at it,", SEEN_BYTES_MAX, LOOK_USEC,
         look_answer},
};

enum { DOORS = ARRAY_LEN(doors) };

static int open_door(Command *command, const char *directory, const Door *door) {
        return varlink_bind_socket(
                root_path(command->arena, command->root,
                          arena_printf(command->arena, "%s/%s", directory, door->name)),
                0600);
}

static void close_doors(const int *listeners) {
        for (size_t i = 0; i < DOORS; i++)
                if (listeners[i] >= 0)
                        close(listeners[i]);
}

static int start_listening(Command *command, const char *name, int *listeners) {
        const char *directory = arena_printf(command->arena, PATH_ANSWERS "/%s", name);
        int r = root_make_directory(command->root, directory);

        for (size_t i = 0; r >= 0 && i < DOORS; i++)
                r = listeners[i] = open_door(command, directory, &doors[i]);
        return MIN(r, 0);
}

static void note_signal(int number UNUSED) {
}

/* SIGTERM is kept for later. Systemd stops us as soon as nobody is going to say anything any more; what was said by
 * then is kept all the same. *RET: with it let in. */
static void hold_stop(sigset_t *ret) {
        const struct sigaction noted = {.sa_handler = note_signal};
        sigset_t stop;

        sigemptyset(&stop);
        sigaddset(&stop, SIGTERM);
        sigaction(SIGTERM, &noted, NULL);
        sigprocmask(SIG_BLOCK, &stop, ret);
        sigdelset(ret, SIGTERM);
}

/* There is no hurry, until we are to stop: -ECANCELED where nobody is left at any door. */
static int accept_one(const int *listeners, const sigset_t *let_in, const Door **ret_door) {
        struct pollfd waiting[DOORS];
        bool is_stopped = false;

        for (;;) {
                for (size_t i = 0; i < DOORS; i++) {
                        int fd = accept4(listeners[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                        *ret_door = &doors[i];
                        if (fd >= 0)
                                return fd;
                        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                                return -errno;
                        waiting[i] = (struct pollfd){.fd = listeners[i], .events = POLLIN};
                }
                if (is_stopped)
                        return -ECANCELED;
                is_stopped = ppoll(waiting, DOORS, NULL, let_in) < 0 && errno == EINTR;
        }
}

/* All that is said before the other side's end; NULL, or what is wrong with it. */
static const char *read_answer(int fd, const Door *door, uint64_t deadline_usec, Text *answer) {
        char buffer[16384];

        while (deadline_poll(fd, POLLIN, deadline_usec) == 0) {
                ssize_t n = read(fd, buffer, sizeof(buffer));

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        continue;
                if (n <= 0)
                        return n == 0 ? NULL : "gave no answer";
                if (answer->length + (size_t) n > door->bytes_max)
                        return "says too much";
                text_add_n(answer, buffer, (size_t) n);
        }
        return "gave no answer in time";
}

static void hear(Command *command, const char *name, const Door *door, int fd) {
        uint64_t timeout_usec = command->has_timeout ? command->timeout_usec : door->timeout_usec;
        Text answer = text_in(command->arena);
        const char *wrong = read_answer(fd, door, deadline_in(timeout_usec), &answer);

        if (wrong)
                wrong = arena_printf(command->arena, "%s %s", door->who, wrong);
        door->take(command, name, answer.string, answer.length, wrong, timeout_usec);
}

static int hear_all(Command *command, const char *name, const int *listeners,
                    const sigset_t *let_in) {
        const Door *door;
        int fd;

        signal(SIGCHLD, SIG_IGN);
        while ((fd = accept_one(listeners, let_in, &door)) >= 0) {
                pid_t pid = fork();

                if (pid == 0) {
                        close_doors(listeners);
                        hear(command, name, door, fd);
                        _exit(0);
                }
                if (pid < 0)
                        log_line(LOG_WARNING, "%s: %s cannot be heard: %s", name, door->who,
                                 strerror(errno));
                close(fd);
        }
        /* Nobody is told of how they end: they have said it themselves. */
        while (wait(NULL) >= 0 || errno == EINTR)
                ;
        return fd;
}

int verb_listen(Command *command) {
        const char *name = command->arguments[0];
        const Config *config = read_config(command);
        int listeners[DOORS] = {-1};
        sigset_t let_in;

        if (is_switched_off(command))
                return EXIT_DONE;
        if (!config_find(config, name))
                return fail_no_instance(command, name, config);
        hold_stop(&let_in);
        int r = start_listening(command, name, listeners);

        if (r >= 0) {
                service_notify_ready();
                r = hear_all(command, name, listeners, &let_in);
        }
        close_doors(listeners);
        if (r == -ECANCELED)
                return EXIT_DONE;
        log_line(LOG_ERR, "%s cannot be heard of: %s", name, strerror(-r));
        return EXIT_FAILED;
}
