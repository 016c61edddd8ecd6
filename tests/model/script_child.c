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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_USEC = 50 };

/* ---- in the child ---- */

static int size_flag(const Command *command) {
        return __builtin_ctzll(command->operation.page_bytes) << MAP_HUGE_SHIFT;
}

static uint64_t bytes_of(const Command *command) {
        return command->operation.n_pages * command->operation.page_bytes;
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

static long set_policy(const Command *command) {
        const KernelPolicy *policy = &command->operation.policy;
        unsigned long nodes[2] = {policy->nodes, 0};
        bool has_nodes = policy->mode != KERNEL_POLICY_LOCAL;
        const unsigned long *mask = has_nodes ? nodes : NULL;
        unsigned long n = has_nodes ? MASK_BITS : 0;
        int mode = policy_mode(policy->mode);

        if (command->operation.verb == SCRIPT_POLICY)
                return errno_of(syscall(SYS_set_mempolicy, mode, mask, n));
        return errno_of(syscall(SYS_mbind, command->address, bytes_of(command), mode, mask, n, 0));
}

static long map_at(const Command *command, int flags, int fd) {
        void *memory = mmap((void *) command->address, bytes_of(command), PROT_READ | PROT_WRITE,
                            flags | MAP_FIXED_NOREPLACE |
                                    (command->operation.is_private ? MAP_PRIVATE : MAP_SHARED) |
                                    (command->operation.is_noreserve ? MAP_NORESERVE : 0),
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

/* The identifier, or a negative errno. */
static long make_segment(const Command *command) {
        int id = shmget(IPC_PRIVATE, bytes_of(command),
                        IPC_CREAT | SHM_HUGETLB | size_flag(command) |
                                (command->operation.is_noreserve ? SHM_NORESERVE : 0) | 0600);

        return id < 0 ? -errno : id;
}

static void touch(const Command *command, Slot *slot) {
        const ScriptOperation *operation = &command->operation;

        for (uint64_t page = operation->first; page <= operation->last; page++) {
                slot->page = page;
                *(volatile char *) (command->address + page * operation->page_bytes) = 1;
        }
}

static long perform(Slot *slot) {
        const Command *command = &slot->command;

        switch (command->operation.verb) {
        case SCRIPT_RUN:
                return child_run_on(command->operation.cpu_node);
        case SCRIPT_POLICY:
        case SCRIPT_MBIND:
                return set_policy(command);
        case SCRIPT_MAP:
                return map_at(command, MAP_ANONYMOUS | MAP_HUGETLB | size_flag(command), -1);
        case SCRIPT_ATTACH:
                return shmat(command->shm_id, (void *) command->address, 0) == (void *) -1 ? -errno
                                                                                           : 0;
        case SCRIPT_FILE:
                return do_file(command);
        case SCRIPT_TOUCH:
                touch(command, slot);
                return 0;
        case SCRIPT_UNMAP:
                return errno_of(munmap((void *) command->address, bytes_of(command)));
        case SCRIPT_SEGMENT:
                return make_segment(command);
        case SCRIPT_EXIT:
                _exit(0);
        default:
                return host_write(command->path, command->text);
        }
}

__attribute__((noreturn)) static void serve(Slot *slot) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
                if (sem_wait(&slot->asked) == 0) {
                        slot->result = perform(slot);
                        sem_post(&slot->answered);
                }
}

/* ---- in the script ---- */

/* Whether the process has ended. The kernel has freed its memory then. FLAGS: WNOHANG, or 0 to wait for that. */
static bool reap(Child *child, int flags) {
        int status;
        pid_t pid;

        while ((pid = waitpid(child->pid, &status, flags)) < 0)
                if (errno != EINTR)
                        host_fail("waitpid: %s", strerror(errno));
        if (pid == 0)
                return false;
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGBUS)
                host_fail("a process died of signal %d", WTERMSIG(status));
        child->state = WIFSIGNALED(status) ? SCRIPT_KILLED : SCRIPT_ENDED;
        child->pid = 0;
        return true;
}

Child child_start(unsigned cpu_node, Slot *slot) {
        Child child = {.slot = slot, .cpu_node = cpu_node};

        sem_init(&slot->asked, true, 0);
        sem_init(&slot->answered, true, 0);
        fflush(NULL);
        child.pid = fork();
        if (child.pid < 0)
                host_fail("fork: %s", strerror(errno));
        if (child.pid == 0) {
                if (child_run_on(cpu_node) < 0)
                        _exit(1);
                serve(slot);
        }
        return child;
}

long child_ask(Child *child, const Command *command) {
        child->slot->command = *command;
        sem_post(&child->slot->asked);
        while (sem_trywait(&child->slot->answered) < 0) {
                if (reap(child, WNOHANG))
                        return -ESRCH;
                usleep(LOOK_USEC);
        }
        return child->slot->result;
}

void child_end(Child *child) {
        child->slot->command.operation.verb = SCRIPT_EXIT;
        sem_post(&child->slot->asked);
        reap(child, 0);
}
