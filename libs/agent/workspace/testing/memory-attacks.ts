import { existsSync } from 'node:fs';

export const PERL = '/usr/bin/perl';
export const PYTHON = '/usr/bin/python3';
export const withoutPython = existsSync(PYTHON) ? false : `${PYTHON} is not installed`;

const CALLS: Record<string, { memfdCreate: number; prctl: number }> = {
  x64: { memfdCreate: 319, prctl: 157 },
  arm64: { memfdCreate: 279, prctl: 167 },
};
const { memfdCreate, prctl } = CALLS[process.arch] ?? { memfdCreate: -1, prctl: -1 };
const PR_SET_DUMPABLE = 4;

/** Perl that writes so much to a memory file, which it keeps open and does not map. Without single quotes. */
export const memoryFile = (mib: number): string =>
  `my $n = "x"; my $fd = syscall(${memfdCreate}, $n, 0); open(my $f, ">&=", $fd) or die;
  for (1..${mib}) { syswrite($f, "a" x (1 << 20)) or die }`;

/** Perl that forbids its user to look at the process. */
export const FORBID = `syscall(${prctl}, ${PR_SET_DUMPABLE}, 0, 0, 0, 0);`;

/** Python that sends so much in memory files to itself, and keeps none open. Without double quotes. */
export const onTheirWay = (mib: number): string => `
import os, socket
near, far = socket.socketpair()
for _ in range(${mib} // 50):
  fd = os.memfd_create('x')
  for _ in range(50): os.write(fd, b'a' * (1 << 20))
  socket.send_fds(near, [b'x'], [fd])
  os.close(fd)`;

/** Python that makes so much shared memory, which a child fills. Without double quotes. */
export const mappedOnly = (mib: number): string => `
import mmap, os
kept = mmap.mmap(-1, ${mib} << 20)
if os.fork() == 0:
  kept.write(b'a' * (${mib} << 20))
  os._exit(0)
os.wait()`;
