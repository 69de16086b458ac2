import { type Arch, numberOf, type SystemCall } from '../src/confinement/seccomp/system-calls.ts';

/** A script that makes one system call, and fails when the kernel refuses it. Perl prepares what the arguments need. */
function calls(call: SystemCall, args: string, prepare = ''): string {
  const number = numberOf(call, process.arch as Arch) ?? Number.NaN;
  return `perl -e '${prepare} exit(syscall(${[number, args].join(', ')}) < 0)'`;
}

const quoted = (script: string): string => `'${script.replaceAll("'", "'\\''")}'`;

const TYPE = calls('ioctl', '0, 0x5412, $key', 'my $key = "x";');

const socket = (domain: number, type: number, protocol: number): string =>
  `perl -MSocket -e 'exit !socket(S, ${domain}, ${type}, ${protocol})'`;

export interface KernelAttack {
  readonly what: string;
  /** Succeeds for root without a confinement. */
  readonly script: string;
  /**
   * What the kernel lets every user do: also one that the gateway has changed to (`for users`), whom only the filter of system calls
   * stops, or only one that nothing confines. Default: what it lets only root do.
   */
  readonly works?: 'for users' | 'unconfined';
}

/** What a command may not ask of the kernel, whoever its neighbours are. */
export const KERNEL_ATTACKS: readonly KernelAttack[] = [
  { what: 'open the keyring of whoever started it', script: calls('keyctl', '0, -3, 0'), works: 'for users' },
  {
    what: 'leave a key for others',
    script: calls(
      'add_key',
      '$type, $name, $key, 3, -4',
      'my ($type, $name, $key) = ("user", "hermes-test", "key");',
    ),
    works: 'for users',
  },
  {
    what: 'set up io_uring',
    script: calls('io_uring_setup', '1, $ring', 'my $ring = "\\0" x 120;'),
    works: 'for users',
  },
  {
    what: 'load a program of BPF',
    script: calls('bpf', '0, $map, 104', 'my $map = pack("L4", 2, 4, 4, 1) . "\\0" x 88;'),
  },
  {
    what: 'measure others by perf events',
    script: calls(
      'perf_event_open',
      '$event, 0, -1, -1, 0',
      'my $event = pack("LLQ", 1, 128, 0) . "\\0" x 112;',
    ),
  },
  { what: 'handle page faults of the kernel', script: calls('userfaultfd', '0') },
  { what: 'hide memory', script: calls('memfd_secret', '0'), works: 'for users' },
  {
    what: 'keep memory in a pipe',
    script: calls(
      'vmsplice',
      'fileno($out), $vector, 1, 0',
      'pipe(my $in, my $out); my $page = "x" x 4096; my $vector = pack("PQ", $page, 4096);',
    ),
    works: 'for users',
  },
  { what: 'read the log of the kernel', script: calls('syslog', '10, 0, 0') },
  { what: 'make a user namespace', script: 'unshare --user true', works: 'for users' },
  {
    what: 'make a user namespace by clone',
    script: calls('clone', '0x10000011, 0, 0, 0, 0'),
    works: 'for users',
  },
  {
    what: 'make a user namespace by clone3',
    script: calls('clone3', '$args, 64', 'my $args = pack("Q8", 0x10000000, 0, 0, 0, 17, 0, 0, 0);'),
    works: 'for users',
  },
  { what: 'mount a file system', script: 'mkdir -p mnt && unshare --mount mount -t tmpfs none mnt' },
  { what: 'reach the machine below by AF_VSOCK', script: socket(40, 1, 0), works: 'for users' },
  { what: 'open a raw socket', script: socket(2, 3, 1) },
  { what: 'open a socket for packets', script: socket(17, 3, 0) },
  { what: 'type into a terminal', script: `script -qec ${quoted(TYPE)} /dev/null`, works: 'for users' },
  { what: 'become root by a password', script: 'su -c true' },
  {
    what: 'gain rights by a setuid program',
    script: 'grep -q "^NoNewPrivs:[[:space:]]0" /proc/self/status',
    works: 'unconfined',
  },
];

/** A script that tries them all, each in a shell of its own, and prints the exit code of each. */
export const ALL_ATTACKS = KERNEL_ATTACKS.map(
  ({ what, script }) => `sh -c ${quoted(script)} </dev/null >/dev/null 2>&1; echo "$? ${what}"`,
).join('\n');
