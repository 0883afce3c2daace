"""The system call filter of the sandbox, as a BPF program that bubblewrap loads.

The filter is a deny list: run-time systems use many calls, but none of them needs the denied ones. Denied calls
would let a program create namespaces, inspect other processes, hold memory that is charged to no process, leave
data for the next program, wait without being idle (`launcher.c`), or reach rarely used parts of the kernel. Some
calls are allowed for the calling process alone. Denied calls fail with EPERM; clone3 fails with ENOSYS, so that the
C library falls back to clone, whose flags the filter can read.
"""

import errno
import platform
import struct
from operator import itemgetter

# name: (number on x86_64, number on aarch64); -1 if the machine does not have the call
_DENIED = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "fsetxattr": (190, 7),
    "init_module": (175, 105),
    "io_cancel": (210, 3),
    "io_destroy": (207, 1),
    "io_getevents": (208, 4),
    "io_pgetevents": (333, 292),
    "io_setup": (206, 0),
    "io_submit": (209, 2),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "ioprio_set": (251, 30),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "semget": (64, 190),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmget": (29, 194),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sync": (162, 81),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
# Allowed with 0, the calling process, as the first argument.
_OF_OTHERS_DENIED = {
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
}
_SETPRIORITY = (141, 140)  # allowed with 0 and 0: PRIO_PROCESS, the calling process
_CLONE = (56, 220)
_CLONE3 = 435
_CLONE_VFORK = 0x4000
_PARENT_OR_THREAD = (
    0x18000  # CLONE_PARENT and CLONE_THREAD: with CLONE_VFORK the caller would wait without a child
)
_NEW_NAMESPACE = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH value
_X32 = 0x40000000  # set in the numbers of x86_64's second system call table

# struct seccomp_data: number at 0, machine at 4, arguments from 16 (low half first on both machines)
_NUMBER, _MACHINE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_LEAF = 8  # system calls that a leaf of the tree compares one after another


def filter_program() -> bytes | None:
    """Return the compiled filter for this machine, or None where the tables do not have the machine."""
    if platform.machine() not in _MACHINES:
        return None
    column, machine = _MACHINES[platform.machine()]
    refuse = _ERROR | errno.EPERM
    program = [
        _instruction(_LOAD, _MACHINE),
        _instruction(_EQUAL, machine, skip_if_true=1),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
        *_returning(_AT_LEAST, _X32, _KILL),
    ]
    deny = [_instruction(_RETURN, refuse)]
    of_itself = [_instruction(_LOAD, _FIRST_ARGUMENT), *_returning(_EQUAL, 0, _ALLOW), *deny]
    own_priority = [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_EQUAL, 0, skip_if_false=3),
        _instruction(_LOAD, _SECOND_ARGUMENT),
        *_returning(_EQUAL, 0, _ALLOW),
        *deny,
    ]
    plain_clone = [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        *_returning(_ANY_BIT, _NEW_NAMESPACE, refuse),
        _instruction(_ANY_BIT, _CLONE_VFORK, skip_if_true=1),
        _instruction(_RETURN, _ALLOW),
        *_returning(_ANY_BIT, _PARENT_OR_THREAD, refuse),
        _instruction(_RETURN, _ALLOW),
    ]
    checks = {numbers[column]: deny for numbers in _DENIED.values() if numbers[column] >= 0}
    checks |= {numbers[column]: of_itself for numbers in _OF_OTHERS_DENIED.values()}
    checks |= {_SETPRIORITY[column]: own_priority, _CLONE[column]: plain_clone}
    checks[_CLONE3] = [_instruction(_RETURN, _ERROR | errno.ENOSYS)]
    return b"".join(program + _tree(sorted(checks.items(), key=itemgetter(0)), deny))


def _tree(checks: list[tuple[int, list[bytes]]], deny: list[bytes]) -> list[bytes]:
    """Return a search for the system call's number among these, with the check of each; other calls are allowed.

    A tree and not a list: the kernel runs a new filter for each number there is, which takes 0.15 ms with a list.
    """
    if len(checks) > _LEAF:
        middle = len(checks) // 2
        below, above = _tree(checks[:middle], deny), _tree(checks[middle:], deny)
        return [_instruction(_AT_LEAST, checks[middle][0], skip_if_true=len(below)), *below, *above]
    leaf: list[bytes] = []
    for number, check in checks:
        if check is not deny:
            leaf += [_instruction(_EQUAL, number, skip_if_false=len(check)), *check]
    denied = [number for number, check in checks if check is deny]
    leaf += [
        _instruction(_EQUAL, number, skip_if_true=distance)
        for number, distance in zip(denied, range(len(denied), 0, -1), strict=True)
    ]
    return [*leaf, _instruction(_RETURN, _ALLOW), *(deny if denied else ())]


def _returning(test: int, value: int, action: int) -> list[bytes]:
    return [_instruction(test, value, skip_if_false=1), _instruction(_RETURN, action)]


def _instruction(code: int, value: int, skip_if_true: int = 0, skip_if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, skip_if_true, skip_if_false, value)
