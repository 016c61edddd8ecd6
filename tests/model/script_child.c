/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/script_child.h"

#include "base/id_set.h"
#include "model/names.h"
#include "model/script_host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in the child ---- */

static long size_flag(uint64_t page_bytes) {
        return (long) __builtin_ctzll(page_bytes) << MAP_HUGE_SHIFT;
}

static int policy_mode(KernelPolicyMode mode) {
        static const int modes[] = {
                [KERNEL_POLICY_LOCAL] = MPOL_DEFAULT,
                [KERNEL_POLICY_BIND] = MPOL_BIND,
                [KERNEL_POLICY_INTERLEAVE] = MPOL_INTERLEAVE,
                [KERNEL_POLICY_PREFERRED] = MPOL_PREFERRED,
        };

        return modes[mode];
}

static long errno_of(long r) {
        return r < 0 ? -errno : 0;
}

long child_run_on(unsigned node) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *path = arena_printf(arena, PATH_NODES "/node%u/cpulist", node);
        IdSet cpus = {};
        cpu_set_t set;

        id_set_parse(text_strip(arena, host_read(arena, path)), &cpus);
        CPU_ZERO(&set);
        ID_SET_FOREACH(cpu, &cpus)
                CPU_SET(cpu, &set);
        return errno_of(sched_setaffinity(0, sizeof(set), &set));
}

/* set_mempolicy(2) and mbind(2) use one bit less than this number. */
enum { MASK_BITS = 65 };

static long do_bind(const Command *command) {
        unsigned long nodes[2] = {command->policy.nodes, 0};
        bool has_nodes = command->policy.mode != KERNEL_POLICY_LOCAL;

        return errno_of(syscall(SYS_mbind, command->address, command->n_pages * command->page_bytes,
                                policy_mode(command->policy.mode), has_nodes ? nodes : NULL,
                                has_nodes ? MASK_BITS : 0, 0));
}

static long map_at(const Command *command, int flags, int fd) {
        void *memory = mmap((void *) command->address, command->n_pages * command->page_bytes,
                            PROT_READ | PROT_WRITE,
                            flags | MAP_FIXED_NOREPLACE |
                                    (command->is_private ? MAP_PRIVATE : MAP_SHARED) |
                                    (command->is_noreserve ? MAP_NORESERVE : 0),
                            fd, 0);

        return memory == MAP_FAILED ? -errno : 0;
}

static long do_file(const Command *command) {
        int fd = open(command->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        long r = fd < 0 ? -errno : map_at(command, 0, fd);

        if (fd >= 0)
                close(fd);
        return r;
}

__attribute__((noreturn)) static void serve(int fd, volatile uint64_t *progress);

/* The new process's socket comes with the command. CLONE_PARENT makes the process a child of the script. */
static long make_brother(int fd, int its_fd, volatile uint64_t *progress) {
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, NULL, NULL, 0);

        if (pid == 0) {
                close(fd);
                serve(its_fd, progress);
        }
        close(its_fd);
        return pid < 0 ? -errno : pid;
}

static long perform(int fd, const Command *command, int passed_fd, volatile uint64_t *progress) {
        switch (command->operation) {
        case OPERATION_RUN_ON:
                return child_run_on(command->cpu_node);
        case OPERATION_POLICY: {
                unsigned long nodes[2] = {command->policy.nodes, 0};
                bool has_nodes = command->policy.mode != KERNEL_POLICY_LOCAL;

                return errno_of(syscall(SYS_set_mempolicy, policy_mode(command->policy.mode),
                                        has_nodes ? nodes : NULL, has_nodes ? MASK_BITS : 0));
        }
        case OPERATION_FORK:
                return make_brother(fd, passed_fd, progress);
        case OPERATION_MAP:
                return map_at(command,
                              MAP_ANONYMOUS | MAP_HUGETLB | (int) size_flag(command->page_bytes),
                              -1);
        case OPERATION_ATTACH:
                return shmat(command->shm_id, (void *) command->address, 0) == (void *) -1 ? -errno
                                                                                           : 0;
        case OPERATION_FILE:
                return do_file(command);
        case OPERATION_BIND:
                return do_bind(command);
        case OPERATION_TOUCH:
                for (uint64_t page = command->first; page <= command->last; page++) {
                        progress[command->progress] = page;
                        *(volatile char *) (command->address + page * command->page_bytes) = 1;
                }
                return 0;
        case OPERATION_UNMAP:
                return errno_of(
                        munmap((void *) command->address, command->n_pages * command->page_bytes));
        case OPERATION_SHMGET: {
                /* The identifier, or a negative errno. */
                int id = shmget(IPC_PRIVATE, command->n_pages * command->page_bytes,
                                IPC_CREAT | SHM_HUGETLB | (int) size_flag(command->page_bytes) |
                                        (command->is_noreserve ? SHM_NORESERVE : 0) | 0600);

                return id < 0 ? -errno : id;
        }
        case OPERATION_WRITE:
                return host_write(command->path, command->text);
        }
        return -EINVAL;
}

typedef union Control {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
} Control;

static bool receive(int fd, Command *command, int *ret_fd) {
        Control control;
        struct iovec vector = {command, sizeof(*command)};
        struct msghdr message = {.msg_iov = &vector,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
        const struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

        *ret_fd = -1;
        if (header && header->cmsg_type == SCM_RIGHTS)
                memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
        return n == (ssize_t) sizeof(*command);
}

static void serve(int fd, volatile uint64_t *progress) {
        Command command;
        int passed_fd;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (receive(fd, &command, &passed_fd)) {
                long r = perform(fd, &command, passed_fd, progress);

                if (send(fd, &r, sizeof(r), MSG_NOSIGNAL) != (ssize_t) sizeof(r))
                        break;
        }
        _exit(0);
}

/* ---- in the script ---- */

/* The kernel has freed a process's memory when waitpid(2) returns. */
static void reap(Child *child) {
        int status;

        while (waitpid(child->pid, &status, 0) < 0)
                if (errno != EINTR)
                        host_fail("waitpid: %s", strerror(errno));
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGBUS)
                host_fail("a process died of signal %d", WTERMSIG(status));
        child->state = WIFSIGNALED(status) ? SCRIPT_KILLED : SCRIPT_ENDED;
        child->pid = 0;
        close(child->fd);
}

static long ask(Child *child, const Command *command, int passed_fd) {
        long r;

        Control control = {};
        struct iovec vector = {(void *) command, sizeof(*command)};
        struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

        if (passed_fd >= 0) {
                message.msg_control = &control;
                message.msg_controllen = sizeof(control);
                control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                                  .cmsg_type = SCM_RIGHTS,
                                                  .cmsg_len = CMSG_LEN(sizeof(int))};
                memcpy(CMSG_DATA(&control.header), &passed_fd, sizeof(int));
        }
        if (sendmsg(child->fd, &message, MSG_NOSIGNAL) < 0)
                host_fail("sendmsg: %s", strerror(errno));
        ssize_t n = recv(child->fd, &r, sizeof(r), 0);

        if (n == (ssize_t) sizeof(r))
                return r;
        reap(child);
        return -ESRCH;
}

static void make_sockets(int fds[2]) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                host_fail("socketpair: %s", strerror(errno));
}

Child child_start(unsigned cpu_node, volatile uint64_t *progress) {
        int fds[2];

        make_sockets(fds);
        fflush(NULL);
        Child child = {.pid = fork(), .fd = fds[0], .cpu_node = cpu_node};

        if (child.pid < 0)
                host_fail("fork: %s", strerror(errno));
        if (child.pid == 0) {
                close(fds[0]);
                if (child_run_on(cpu_node) < 0)
                        _exit(1);
                serve(fds[1], progress);
        }
        close(fds[1]);
        return child;
}

Child child_fork(Child *child, unsigned cpu_node) {
        int fds[2];

        make_sockets(fds);
        long pid = ask(child, &(Command){.operation = OPERATION_FORK}, fds[1]);

        close(fds[1]);
        if (pid < 0)
                host_fail("fork: %s", strerror((int) -pid));
        return (Child){.pid = (pid_t) pid, .fd = fds[0], .cpu_node = cpu_node};
}

long child_ask(Child *child, const Command *command) {
        return ask(child, command, -1);
}

void child_end(Child *child) {
        shutdown(child->fd, SHUT_RDWR);
        reap(child);
}
