"""Every system call, decided once, as a table: what the sandbox allows, and why it refuses the rest."""

from kernel_gate.sandbox.calls import ALLOWED, CONDITIONS, MISSING, SCOPED

REFUSED: dict[str, str] = {
    "networks and what reaches them": """
        socket socketpair connect accept accept4 bind listen sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown
        getsockname getpeername setsockopt getsockopt io_uring_setup io_uring_enter io_uring_register io_setup
        io_destroy io_getevents io_submit io_cancel io_pgetevents""",
    "other processes: looking, changing, signalling": """
        ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_open pidfd_getfd
        pidfd_send_signal tkill rt_sigqueueinfo rt_tgsigqueueinfo get_robust_list getpgid getsid getpriority setpriority
        sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_setattr sched_getattr
        sched_rr_get_interval sched_get_priority_max sched_get_priority_min sched_setaffinity ioprio_set ioprio_get
        migrate_pages move_pages capget""",
    "leaving the process group, by which a child is ended, or its user": """
        setsid setpgid setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset
        personality""",
    "owners, modes, times and attributes of files: a descriptor that may only be read is enough to change them": """
        chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat setxattr lsetxattr
        fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat getxattr lgetxattr fgetxattr getxattrat
        listxattr llistxattr flistxattr listxattrat file_setattr file_getattr truncate flock mknod mknodat
        name_to_handle_at open_by_handle_at execveat quotactl quotactl_fd cachestat""",
    "watching files of others": """
        inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark lookup_dcookie""",
    "memory and names that outlive a process or are counted nowhere": """
        memfd_create memfd_secret shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
        mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr mlock mlock2 mlockall munlock munlockall
        remap_file_pages splice tee vmsplice mbind set_mempolicy get_mempolicy set_mempolicy_home_node""",
    "namespaces, mounts, roots": """
        unshare setns mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick
        mount_setattr statmount listmount""",
    "keys, tracing, filters, new doors": """
        keyctl add_key request_key bpf perf_event_open userfaultfd seccomp landlock_create_ruleset landlock_add_rule
        landlock_restrict_self lsm_get_self_attr lsm_set_self_attr lsm_list_modules uprobe uretprobe""",
    "the whole machine": """
        reboot swapon swapoff sync syncfs acct syslog sethostname setdomainname settimeofday clock_settime clock_adjtime
        adjtimex init_module finit_module delete_module kexec_load kexec_file_load iopl ioperm vhangup sysfs ustat""",
    "without use for a compiler or a calculation": """
        signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime pkey_mprotect pkey_alloc pkey_free
        map_shadow_stack mseal futex_wake futex_wait futex_requeue modify_ldt set_thread_area get_thread_area uselib
        _sysctl create_module get_kernel_syms query_module nfsservctl getpmsg putpmsg afs_syscall tuxcall security
        epoll_ctl_old epoll_wait_old vserver""",
}
"""Reason: names. The filter does not need them: what is not allowed is refused with EPERM."""


def table() -> str:
    """All decisions as rows of a Markdown table."""
    rows = ["| calls | decision | why |", "|---|---|---|"]
    for decision, groups in (("allowed", ALLOWED), ("ENOSYS", MISSING)):
        for reason, text in groups.items():
            names = ", ".join(f"`{entry.split()[0]}`" for entry in text.split(";"))
            rows.append(f"| {names} | {decision} | {reason} |")
    for name, condition in CONDITIONS.items():
        rows.append(f"| `{name}` | only so | {condition.reason} |")
    rows.append(
        f"| {', '.join(f'`{n}`' for n in sorted(SCOPED))} | only with Landlock 6 | signals stay inside |"
    )
    for reason, text in REFUSED.items():
        rows.append(f"| {', '.join(f'`{name}`' for name in text.split())} | EPERM | {reason} |")
    return "\n".join(rows) + "\n"
