import type { SystemCall } from './system-calls.ts';

/** What a refused call answers, as errno has it; the same numbers on both architectures. */
export const ERRNO = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;

export type Errno = keyof typeof ERRNO;

/** A condition on the lower 32 bits of one argument; the kernel ignores the upper half of all that are tested here. */
export type Condition =
  | { readonly argument: number; readonly is: readonly number[]; readonly mask?: number }
  | { readonly argument: number; readonly not: readonly number[]; readonly mask?: number };

/** A call that is refused: always, or when all conditions hold. The first rule of a call that fits decides. */
export interface Rule {
  readonly call: SystemCall;
  readonly answer: Errno;
  readonly when?: readonly Condition[];
}

const refused = (...calls: readonly SystemCall[]): Rule[] => calls.map((call) => ({ call, answer: 'EPERM' }));

/** Flags of clone(2) and unshare(2) that make a namespace. */
const NAMESPACES = {
  mount: 0x0002_0000,
  cgroup: 0x0200_0000,
  uts: 0x0400_0000,
  ipc: 0x0800_0000,
  user: 0x1000_0000,
  pid: 0x2000_0000,
  network: 0x4000_0000,
};
const ANY_NAMESPACE = Object.values(NAMESPACES).reduce((all, flag) => all | flag);
/** `CLONE_NEWTIME`: for clone(2) these bits are the signal of the child's end. */
const TIME_NAMESPACE = 0x80;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_PACKET = 10;
/** The type of a socket without `SOCK_NONBLOCK` and `SOCK_CLOEXEC`. */
const SOCKET_TYPE = 0xf;

const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

/** Bits of a mask, of which at least one is set. */
const anyOf = (argument: number, mask: number): Condition => ({ argument, mask, not: [0] });

/**
 * What confined commands may not ask of the kernel (SECURITY.md#protections). All other calls up to `NEWEST` are allowed: what
 * they reach is a question of paths, users and namespaces.
 */
export const RULES: readonly Rule[] = [
  // Keyrings belong to a user or a session, not to a namespace.
  ...refused('keyctl', 'add_key', 'request_key'),
  // Large parts of the kernel, in which most ways out of a confinement have been found.
  ...refused('io_uring_setup', 'io_uring_enter', 'io_uring_register'),
  ...refused('bpf', 'perf_event_open', 'userfaultfd', 'lookup_dcookie', 'fanotify_init'),
  // Memory that no count of the kernel shows. A program that has no vmsplice writes.
  ...refused('memfd_secret'),
  { call: 'vmsplice', answer: 'ENOSYS' },
  // Other processes. Debuggers and leak sanitizers attach to processes of the same command: namespaces, users and Landlock keep
  // them from those of others.
  ...refused('pidfd_getfd', 'kcmp', 'move_pages', 'migrate_pages'),
  // Namespaces. Flags of clone3 are behind a pointer, so it does not exist: the C library goes on with clone.
  { call: 'clone', answer: 'EPERM', when: [anyOf(0, ANY_NAMESPACE)] },
  { call: 'unshare', answer: 'EPERM', when: [anyOf(0, ANY_NAMESPACE | TIME_NAMESPACE)] },
  { call: 'clone3', answer: 'ENOSYS' },
  ...refused('setns'),
  // File systems, and files without their path.
  ...refused('mount', 'umount2', 'pivot_root', 'chroot', 'open_by_handle_at'),
  ...refused(
    'open_tree',
    'open_tree_attr',
    'move_mount',
    'mount_setattr',
    'fsopen',
    'fsconfig',
    'fsmount',
    'fspick',
  ),
  ...refused(
    'quotactl',
    'quotactl_fd',
    'swapon',
    'swapoff',
    'acct',
    'nfsservctl',
    'ustat',
    'sysfs',
    'uselib',
  ),
  // The machine.
  ...refused('reboot', 'kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module'),
  ...refused('create_module', 'query_module', 'get_kernel_syms', '_sysctl', 'iopl', 'ioperm', 'syslog'),
  ...refused('settimeofday', 'clock_settime', 'sethostname', 'setdomainname', 'vhangup'),
  // Text that another process of the terminal reads as if it were typed.
  { call: 'ioctl', answer: 'EPERM', when: [{ argument: 1, is: [TIOCSTI, TIOCLINUX] }] },
  // AF_VSOCK reaches the machine below, AF_ALG and others are drivers; raw sockets see and forge packets.
  {
    call: 'socket',
    answer: 'EAFNOSUPPORT',
    when: [{ argument: 0, not: [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] }],
  },
  {
    call: 'socket',
    answer: 'EPERM',
    when: [
      { argument: 0, is: [AF_INET, AF_INET6] },
      { argument: 1, mask: SOCKET_TYPE, is: [SOCK_RAW, SOCK_PACKET] },
    ],
  },
];
