/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Every well-known path and name, once. Paths are those of a running host; host/ resolves them below its root
 * directory. */

/* hugeplan's own files. */
#define NAME_CONFIG_DIR "hugeplan.d"
#define NAME_SOCKET     "org.hugeplan.Manager"
#define PATH_RUNTIME    "/run/hugeplan"
#define PATH_SOCKET     PATH_RUNTIME "/" NAME_SOCKET
/* Hidden, so that the files are no configuration; on the root file system, the only one mounted in early boot. */
#define PATH_BOOT_COUNT       "/etc/" NAME_CONFIG_DIR "/.boots"
#define PATH_BOOT_PROVEN      "/etc/" NAME_CONFIG_DIR "/.proven"
#define PATH_BOOT_UNCOUNTED   PATH_RUNTIME "/boot-uncounted"
#define PATH_LEDGER           PATH_RUNTIME "/ledger"
#define PATH_VARLINK_REGISTRY "/run/varlink/registry"
#define PATH_VARLINK_LINK     PATH_VARLINK_REGISTRY "/" NAME_SOCKET
#define NAME_CONFIG_SUFFIX    ".conf"
#define NAME_EXTEND_SUFFIX    ".conf.d"
/* In NAME.conf.d: what was learned of an instance with Memory=auto from its starts. */
#define NAME_LEARNED "90-learned.conf"
#define NAME_UNIT    "hugeplan.service"
/* The link that `systemctl enable` makes (Alias= of hugeplan.service); the generator starts an enabled service. */
#define PATH_UNIT_ENABLED      "/etc/systemd/system/hugepland.service"
#define NAME_EARLY_TARGET      "sysinit.target"
#define NAME_CHECK_UNIT        "hugeplan-check.service"
#define NAME_BOOT_TARGET       "multi-user.target" /* a boot that reaches it is good */
#define NAME_DROPIN            "10-hugeplan.conf"
#define NAME_WAIT_PREFIX       "hugeplan-wait@"      /* followed by an instance's name */
#define PATH_SYSTEMD_RUNS      "/run/systemd/system" /* sd_booted(3) */
#define PATH_USR_LIB           "/usr/lib"
#define PATH_EXTENSIONS        PATH_USR_LIB "/extension-release.d" /* there once one is merged */
#define PATH_EXTENSIONS_ETC    "/etc/extension-release.d"
#define PATH_SYSTEMD_LIBRARIES PATH_USR_LIB "/systemd"
#define PATH_UNITS_ETC         "/etc/systemd/system"
#define PATH_SYSTEMD_RUN       "/run/systemd/units/invocation:" /* UNIT: a link to its run's id */
#define PATH_SYSTEMD_PRIVATE   "/run/systemd/private"           /* systemd's socket for root */
#define PATH_GENERATOR_DIR     "/run/systemd/generator"
#define PATH_GENERATOR_LATE    PATH_GENERATOR_DIR ".late"
/* The journals of systemd-journald: persistent, and of this boot. */
#define PATH_JOURNAL          "/var/log/journal"
#define PATH_JOURNAL_VOLATILE "/run/log/journal"
#define PATH_STANDARD_INPUT   "/dev/stdin"
#define KERNEL_SWITCH_OFF     "hugeplan=off"

#define USERS_REMEDY \
        "see who uses huge pages in 'hugeplanctl status --all', and describe that program in /etc/hugeplan.d, too"
/* "restart" in place of "start", because it also helps with a silent daemon and with a removed socket. */
#define DAEMON_REMEDY "run 'systemctl restart " NAME_UNIT "'"

/* The drop-in directories, the highest priority first (UAPI.6, systemd's standard order). */
#define PATH_CONFIG_ETC   "/etc/" NAME_CONFIG_DIR
#define PATH_CONFIG_RUN   "/run/" NAME_CONFIG_DIR
#define PATH_CONFIG_LOCAL "/usr/local/lib/" NAME_CONFIG_DIR
#define PATH_CONFIG_USR   "/usr/lib/" NAME_CONFIG_DIR

/* The kernel's files: Documentation/admin-guide/mm/hugetlbpage.rst and transhuge.rst. */
#define PATH_NODES                  "/sys/devices/system/node"
#define PATH_CPUS_ONLINE            "/sys/devices/system/cpu/online"
#define PATH_HUGEPAGES              "/sys/kernel/mm/hugepages"
#define PATH_THP                    "/sys/kernel/mm/transparent_hugepage"
#define PATH_THP_ENABLED            PATH_THP "/enabled"
#define PATH_THP_SHMEM              PATH_THP "/shmem_enabled"
#define PATH_THP_DEFRAG             PATH_THP "/defrag"
#define PATH_THP_MAX_PTES_NONE      PATH_THP "/khugepaged/max_ptes_none"
#define PATH_MEMINFO                "/proc/meminfo"
#define PATH_BUDDYINFO              "/proc/buddyinfo"
#define PATH_CMDLINE                "/proc/cmdline"
#define PATH_BOOT_ID                "/proc/sys/kernel/random/boot_id"
#define PATH_OSRELEASE              "/proc/sys/kernel/osrelease"
#define PATH_HOST_NAME              "/proc/sys/kernel/hostname"
#define PATH_SELF_STATUS            "/proc/self/status"
#define PATH_SELF_SMAPS             "/proc/self/smaps"
#define PATH_NR_HUGEPAGES           "/proc/sys/vm/nr_hugepages"
#define PATH_NR_HUGEPAGES_MEMPOLICY "/proc/sys/vm/nr_hugepages_mempolicy"
#define PATH_NR_OVERCOMMIT          "/proc/sys/vm/nr_overcommit_hugepages"
#define PATH_OVERCOMMIT_MEMORY      "/proc/sys/vm/overcommit_memory"
#define PATH_OVERCOMMIT_RATIO       "/proc/sys/vm/overcommit_ratio"
#define PATH_MIN_FREE               "/proc/sys/vm/min_free_kbytes"
#define PATH_COMPACT                "/proc/sys/vm/compact_memory"
#define PATH_DROP_CACHES            "/proc/sys/vm/drop_caches"
#define PATH_CGROUP_RECLAIM         "/sys/fs/cgroup/memory.reclaim"
#define PATH_CGROUP                 "/sys/fs/cgroup"
#define PATH_OWN_MEMORY_NODES       PATH_CGROUP "/" NAME_UNIT "/cpuset.mems.effective" /* Slice=-.slice */
#define PATH_SYS                    "/sys"
#define PATH_PROC                   "/proc"
#define PATH_PROC_SYS               "/proc/sys/"
#define PATH_SELF_CGROUP            "/proc/self/cgroup"
#define PATH_SELF_MOUNTINFO         "/proc/self/mountinfo"
#define PATH_SYSV_SHM               "/proc/sysvipc/shm"
#define PATH_MOUNTS                 "/proc/mounts"
#define PATH_UPTIME                 "/proc/uptime"
#define PATH_KMSG                   "/dev/kmsg"
#define NAME_HUGEPAGES_DIR          "hugepages-" /* followed by the size in kB and "kB" */
#define PATH_CONTAINER              "/run/systemd/container"
#define PATH_CRASH_DUMP             "/proc/vmcore" /* there in a dump-capture kernel: kdump.rst */

/* The tree of PATH_CGROUP, writable inside hugeplan.service, where PATH_CGROUP is read-only. */
#define PATH_CGROUP_WRITABLE "/run/hugeplan/cgroup"

/* Accounts and their limits. One group only may create System V segments of huge pages: hugeplan's, from sysusers.d, so
 * that databases of several owners can be members. */
#define PATH_ETC               "/etc"
#define PATH_PASSWD            "/etc/passwd"
#define PATH_GROUP             "/etc/group"
#define PATH_USR_PASSWD        PATH_USR_LIB "/passwd" /* nss-altfiles: image-based systems */
#define PATH_USR_GROUP         PATH_USR_LIB "/group"
#define PATH_NSSWITCH          "/etc/nsswitch.conf"
#define NAME_HUGETLB_GROUP     "hugetlb"
#define PATH_PAM_SECURITY      "/etc/security"
#define PATH_PAM_LIMITS        "/etc/security/limits.d/60-hugeplan.conf"
#define PATH_SHMMAX            PATH_PROC_SYS "kernel/shmmax"
#define PATH_SHMALL            PATH_PROC_SYS "kernel/shmall"
#define PATH_HUGETLB_SHM_GROUP PATH_PROC_SYS "vm/hugetlb_shm_group"

/* Other programs' configuration that sets what hugeplan manages, and hugeplan's guard in sysctl.d. */
#define NAME_SYSCTL_DIR         "sysctl.d"
#define NAME_TMPFILES_DIR       "tmpfiles.d"
#define PATH_SYSCTL_CONF        "/etc/sysctl.conf"
#define PATH_SYSCTL_GUARD       "/run/" NAME_SYSCTL_DIR "/zz-hugeplan.conf"
#define PATH_TUNED_PROFILE      "/etc/tuned/active_profile"
#define PATH_TUNED_POST_PROFILE "/etc/tuned/post_loaded_profile"
#define NAME_TUNED_FILE         "tuned.conf"
