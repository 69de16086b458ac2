import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { PYTHON, withoutPython } from '../../testing/memory-attacks.ts';
import { processStatus } from './proc.ts';

const TABLES_MIB = 32;

/** Reads a byte of each table of pages, without large pages. Nothing of the mapping itself is in memory. */
const READER = `
import mmap, sys
size = ${TABLES_MIB} << 29
kept = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
kept.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, size, 2 << 20): kept[at]
print('read', flush=True)
sys.stdin.read()`;

test('the tables of pages of a process count as memory of its own', { skip: withoutPython }, async (t) => {
  const child = spawn(PYTHON, ['-c', READER], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const { anonymousKib = 0 } = processStatus(child.pid ?? 0) ?? {};
  assert.ok(anonymousKib > TABLES_MIB * 1024, `${anonymousKib} KiB`);
});
