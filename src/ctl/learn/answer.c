/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/learn/answer.h"

#include "runtime/deadline.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int answer_say(const char *text) {
        return fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? 0 : -EIO;
}

void answer_wait_for_use(uint64_t timeout_usec) {
        uint64_t deadline_usec = deadline_in(timeout_usec);
        char byte;

        if (shutdown(STDOUT_FILENO, SHUT_WR) < 0)
                return;
        while (deadline_poll(STDIN_FILENO, POLLIN, deadline_usec) == 0 &&
               read(STDIN_FILENO, &byte, 1) > 0)
                ;
}
