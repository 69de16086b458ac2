/** An architecture that has a filter; named as `process.arch` names it. */
export type Arch = 'x64' | 'arm64';

/** `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_AARCH64` of linux/audit.h. */
export const AUDIT_ARCH: Readonly<Record<Arch, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/**
 * The newest system call that was looked at, `file_setattr` of Linux 6.17: 469 on both architectures. What comes after it does
 * not exist for commands, and neither do x32's calls, whose numbers are above 2^30.
 */
export const NEWEST = 469;

type Numbers = readonly [x64: number, arm64: number];

/** Calls that have an old number on x86-64 only. */
const NEVER = -1;

/** Calls above 423 have the same number everywhere. */
const same = (number: number): Numbers => [number, number];

/** The numbers of the calls that the rules name (asm/unistd_64.h and asm-generic/unistd.h of Linux). */
const NUMBERS = {
  _sysctl: [156, NEVER],
  acct: [163, 89],
  add_key: [248, 217],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_settime: [227, 112],
  clone: [56, 220],
  clone3: same(435),
  create_module: [174, NEVER],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: same(431),
  fsmount: same(432),
  fsopen: same(430),
  fspick: same(433),
  get_kernel_syms: [177, NEVER],
  init_module: [175, 105],
  io_uring_enter: same(426),
  io_uring_register: same(427),
  io_uring_setup: same(425),
  ioctl: [16, 29],
  ioperm: [173, NEVER],
  iopl: [172, NEVER],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  lookup_dcookie: [212, 18],
  memfd_secret: same(447),
  migrate_pages: [256, 238],
  mount: [165, 40],
  mount_setattr: same(442),
  move_mount: same(429),
  move_pages: [279, 239],
  nfsservctl: [180, 42],
  open_by_handle_at: [304, 265],
  open_tree: same(428),
  open_tree_attr: same(467),
  perf_event_open: [298, 241],
  pidfd_getfd: same(438),
  pivot_root: [155, 41],
  query_module: [178, NEVER],
  quotactl: [179, 60],
  quotactl_fd: same(443),
  reboot: [169, 142],
  request_key: [249, 218],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  settimeofday: [164, 170],
  socket: [41, 198],
  swapoff: [168, 225],
  swapon: [167, 224],
  sysfs: [139, NEVER],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  uselib: [134, NEVER],
  userfaultfd: [323, 282],
  ustat: [136, NEVER],
  vhangup: [153, 58],
  vmsplice: [278, 75],
} as const satisfies Record<string, Numbers>;

export type SystemCall = keyof typeof NUMBERS;

/** The number of a call, undefined where the architecture does not have it. */
export function numberOf(call: SystemCall, arch: Arch): number | undefined {
  const number = NUMBERS[call][arch === 'x64' ? 0 : 1];
  return number === NEVER ? undefined : number;
}

export const SYSTEM_CALLS = Object.keys(NUMBERS) as readonly SystemCall[];
