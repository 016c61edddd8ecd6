/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/syscall_list.h"

#include "base/macros.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#        define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__i386__)
#        define ARCHITECTURE AUDIT_ARCH_I386
#elif defined(__aarch64__)
#        define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__arm__)
#        define ARCHITECTURE AUDIT_ARCH_ARM
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#        define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__powerpc64__)
#        define ARCHITECTURE AUDIT_ARCH_PPC64
#elif defined(__s390x__)
#        define ARCHITECTURE AUDIT_ARCH_S390X
#elif defined(__riscv) && __riscv_xlen == 64
#        define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__loongarch64)
#        define ARCHITECTURE AUDIT_ARCH_LOONGARCH64
#endif

/* Each with the argument that decides: none (-1), or the one whose BITS must all be clear. The low half of
 * an argument is looked at, where all flags are. */
typedef struct Row {
        unsigned number;
        int argument;
        unsigned bits;
} Row;

/* O_TMPFILE has the bit of O_DIRECTORY too, which is wanted; with neither of the others it does nothing. */
enum { WRITING = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC };

static const Row rows[] = {
        /* files */
        {SYS_openat, 2, WRITING},
#ifdef SYS_open
        {SYS_open, 1, WRITING},
#endif
        {SYS_read, -1, 0},
        {SYS_pread64, -1, 0},
        {SYS_readv, -1, 0},
        {SYS_close, -1, 0},
        {SYS_lseek, -1, 0},
#ifdef SYS__llseek
        {SYS__llseek, -1, 0},
#endif
#ifdef SYS_fstat
        {SYS_fstat, -1, 0},
#endif
#ifdef SYS_fstat64
        {SYS_fstat64, -1, 0},
#endif
#ifdef SYS_newfstatat
        {SYS_newfstatat, -1, 0},
#endif
#ifdef SYS_fstatat64
        {SYS_fstatat64, -1, 0},
#endif
#ifdef SYS_stat
        {SYS_stat, -1, 0},
#endif
#ifdef SYS_lstat
        {SYS_lstat, -1, 0},
#endif
#ifdef SYS_statx
        {SYS_statx, -1, 0},
#endif
#ifdef SYS_fstatfs
        {SYS_fstatfs, -1, 0},
#endif
#ifdef SYS_fstatfs64
        {SYS_fstatfs64, -1, 0},
#endif
        {SYS_getdents64, -1, 0},
#ifdef SYS_readlink
        {SYS_readlink, -1, 0},
#endif
        {SYS_readlinkat, -1, 0},
        {SYS_fcntl, -1, 0},
#ifdef SYS_fcntl64
        {SYS_fcntl64, -1, 0},
#endif
        /* the answer */
        {SYS_write, -1, 0},
        {SYS_writev, -1, 0},
/* memory */
#if defined(SYS_mmap2)
        {SYS_mmap2, 2, PROT_EXEC},
#elif defined(__s390x__) /* its arguments stand in memory */
        {SYS_mmap, -1, 0},
#else
        {SYS_mmap, 2, PROT_EXEC},
#endif
        {SYS_mprotect, 2, PROT_EXEC},
        {SYS_munmap, -1, 0},
        {SYS_mremap, -1, 0},
        {SYS_madvise, -1, 0},
        {SYS_brk, -1, 0},
        /* the library's own */
        {SYS_futex, -1, 0},
#ifdef SYS_futex_time64
        {SYS_futex_time64, -1, 0},
#endif
        {SYS_getpid, -1, 0},
        {SYS_gettid, -1, 0},
        {SYS_getuid, -1, 0},
        {SYS_geteuid, -1, 0},
        {SYS_getrandom, -1, 0},
        {SYS_sysinfo, -1, 0},
        {SYS_sched_yield, -1, 0},
        {SYS_clock_gettime, -1, 0},
#ifdef SYS_clock_gettime64
        {SYS_clock_gettime64, -1, 0},
#endif
        {SYS_gettimeofday, -1, 0},
        {SYS_rt_sigaction, -1, 0},
        {SYS_rt_sigprocmask, -1, 0},
        {SYS_rt_sigreturn, -1, 0},
        {SYS_sigaltstack, -1, 0},
        {SYS_tgkill, -1, 0}, /* abort(3) */
        {SYS_exit, -1, 0},
        {SYS_exit_group, -1, 0},
};

#ifdef ARCHITECTURE

enum { LENGTH_MAX = 5 * ARRAY_LEN(rows) + 8 };

#        if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#                define LOW_HALF 0
#        else
#                define LOW_HALF 4
#        endif

#        define LOAD(offset)   (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#        define RETURN(action) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, action)
#        define IF(test, k, yes, no) \
                (struct sock_filter) BPF_JUMP(BPF_JMP | (test) | BPF_K, k, yes, no)
#        define REFUSE (SECCOMP_RET_ERRNO | EPERM)

static size_t add_row(struct sock_filter *code, const Row *row) {
        size_t n = 0;

        if (row->argument < 0) {
                code[n++] = IF(BPF_JEQ, row->number, 0, 1);
                code[n++] = RETURN(SECCOMP_RET_ALLOW);
                return n;
        }
        code[n++] = IF(BPF_JEQ, row->number, 0, 4);
        code[n++] = LOAD((unsigned) (offsetof(struct seccomp_data, args) +
                                     8 * (size_t) row->argument + LOW_HALF));
        code[n++] = IF(BPF_JSET, row->bits, 0, 1);
        code[n++] = RETURN(REFUSE);
        code[n++] = RETURN(SECCOMP_RET_ALLOW);
        return n;
}

int syscall_list_enter(void) {
        struct sock_filter code[LENGTH_MAX];
        size_t n = 0;

        code[n++] = LOAD(offsetof(struct seccomp_data, arch));
        code[n++] = IF(BPF_JEQ, ARCHITECTURE, 1, 0);
        code[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
        code[n++] = LOAD(offsetof(struct seccomp_data, nr));
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                n += add_row(code + n, &rows[i]);
        code[n++] = RETURN(REFUSE);
        const struct sock_fprog program = {.len = (unsigned short) n, .filter = code};

        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

#else

/* Whoever builds it is told: what the ids hold has to do. */
#        pragma message( \
                "no list of system calls is known for this architecture: readers have their user's rights and limits alone")
int syscall_list_enter(void) {
        return rows[0].number ? 0 : -ENOSYS;
}

#endif
