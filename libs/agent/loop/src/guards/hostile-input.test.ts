import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { guarded, shell } from '../../testing/guarded.ts';
import type { JournalEntry } from '../run/run-state.ts';

/** Far above what the calls take, and far below what they take if the time grows with the square of the input. */
const DEADLINE_MS = 60_000;
const CALLS = 30;

/** Passes a command to the guards in a process of its own, which can be killed while a regular expression is matched. */
async function judged(command: string, stdout: string): Promise<number | null> {
  const script = `
    import { guarded, shell } from ${JSON.stringify(import.meta.resolve('../../testing/guarded.ts'))};
    const { after } = guarded();
    for (let at = 0; at < ${CALLS}; at += 1) await after(shell(${command}, 0, ${stdout}));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: DEADLINE_MS,
    killSignal: 'SIGKILL',
  });
  const [code]: (number | null)[] = await once(child, 'exit');
  return code ?? null;
}

const HOSTILE: readonly [name: string, command: string, stdout: string][] = [
  [
    'scripts of sed with many backslashes',
    String.raw`"sed -i 's/" + '\\.'.repeat(200) + "/x/;s/a/b/' f.txt"`,
    '""',
  ],
  ['long program names', '"1".repeat(45000) + "x"', '""'],
  ['long options', '"sh -" + "n".repeat(45000) + "!"', '""'],
  ['outputs with many empty lines', '"echo hi"', '"a".repeat(90 + at) + "\\n".repeat(70000) + "x"'],
  ['outputs with many carriage returns', '"echo hi"', '"a".repeat(90 + at) + "\\r".repeat(70000) + "x"'],
];

for (const [name, command, stdout] of HOSTILE) {
  test(`guards judge ${name} at once`, async () => assert.equal(await judged(command, stdout), 0));
}

test('an entry that cannot be judged fails its own call alone', async () => {
  const broken: JournalEntry = {
    tool: 'shell_exec',
    ok: true,
    get detail(): string {
      throw new Error('unreadable');
    },
  };
  const { after } = guarded({}, { journal: [broken] });
  await assert.rejects(after(shell('ls')), /unreadable/);
  assert.deepEqual(await after(shell('ls')), []);
});
