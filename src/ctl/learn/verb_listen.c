/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `listen NAME`: hugeplan-learn@.service, which keeps what the owner of a database says that it needs
 * (verb_ask.c).
 *
 * One connection, made by systemd in a directory of root's, is all that this process, which is root without
 * capabilities, has of the owner: no file to be found later or filled up, no path of his. What comes is
 * bounded in size and time, and taken apart strictly (demand/lesson_json.h). Who waits for us sees the connection
 * end. */
#include "ctl/learn/learn.h"
#include "ctl/verbs.h"
#include "demand/lesson_json.h"
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
#include <unistd.h>

static int start_listening(Command *command, const char *name) {
        const char *directory = arena_printf(command->arena, PATH_ANSWERS "/%s", name);
        int r = root_make_directory(command->root, directory);

        if (r < 0)
                return r;
        return varlink_bind_socket(
                root_path(command->arena, command->root,
                          arena_printf(command->arena, "%s/" NAME_ANSWER, directory)),
                0600);
}

static void note_signal(int number) {
        (void) number;
}

/* SIGTERM is kept for later. Systemd stops us as soon as nobody is going to ask any more; what was said by then
 * is kept all the same. *RET: with it let in. */
static void hold_stop(sigset_t *ret) {
        const struct sigaction noted = {.sa_handler = note_signal};
        sigset_t stop;

        sigemptyset(&stop);
        sigaddset(&stop, SIGTERM);
        sigaction(SIGTERM, &noted, NULL);
        sigprocmask(SIG_BLOCK, &stop, ret);
        sigdelset(ret, SIGTERM);
}

/* There is no hurry, until we are to stop: -ECANCELED where nobody has come. */
static int accept_one(int listener, const sigset_t *let_in) {
        struct pollfd waiting = {.fd = listener, .events = POLLIN};
        bool is_stopped = false;

        for (;;) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (fd >= 0)
                        return fd;
                if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                        return -errno;
                if (is_stopped)
                        return -ECANCELED;
                is_stopped = ppoll(&waiting, 1, NULL, let_in) < 0 && errno == EINTR;
        }
}

/* All that is said before the other side's end; NULL, or a sentence. */
static const char *read_answer(int fd, uint64_t deadline_usec, Text *answer) {
        char buffer[16384];

        while (deadline_poll(fd, POLLIN, deadline_usec) == 0) {
                ssize_t n = read(fd, buffer, sizeof(buffer));

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        continue;
                if (n <= 0)
                        return n == 0 && answer->length > 0
                                       ? NULL
                                       : "hugeplan-ask@.service, which asks it as its owner, gave no answer";
                if (answer->length + (size_t) n > LESSON_BYTES_MAX)
                        return "hugeplan-ask@.service, which asks it as its owner, says too much";
                text_add_n(answer, buffer, (size_t) n);
        }
        return "hugeplan-ask@.service, which asks it as its owner, gave no answer in time";
}

static int listen_once(Command *command, const char *name, int listener, const sigset_t *let_in) {
        Text answer = text_in(command->arena);
        int fd = accept_one(listener, let_in);

        if (fd < 0)
                return fd;
        uint64_t timeout_usec = command->has_timeout ? command->timeout_usec : LEARN_USEC;
        const char *wrong = read_answer(fd, deadline_in(timeout_usec), &answer);

        learn_answer(command, name, answer.string, answer.length, wrong, timeout_usec);
        close(fd);
        return 0;
}

int verb_listen(Command *command) {
        const char *name = command->arguments[0];
        const Config *config = read_config(command);
        sigset_t let_in;

        if (is_switched_off(command))
                return EXIT_DONE;
        if (!config_find(config, name))
                return fail_no_instance(command, name, config);
        hold_stop(&let_in);
        int listener = start_listening(command, name), r = listener;

        if (r >= 0) {
                service_notify_ready();
                r = listen_once(command, name, listener, &let_in);
                close(listener);
        }
        if (r == 0 || r == -ECANCELED)
                return EXIT_DONE;
        log_line(LOG_ERR, "%s cannot be heard of: %s", name, strerror(-r));
        return EXIT_FAILED;
}
