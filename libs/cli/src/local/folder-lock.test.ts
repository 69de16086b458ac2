import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import { LOCK_FILES, lockFolder } from './folder-lock.ts';

function start(t: TestContext, ...args: string[]): { process: ChildProcess; line: Promise<string> } {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../testing/lock-holder.ts'), ...args],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { process: child, line: lines.next().then(({ value }) => String(value)) };
}

test(
  'one of several commands that start together has the lock; the others name it, and a kill frees it',
  deadline,
  async (t) => {
    const dir = join(tempDir(t), 'fleet');
    const started = [start(t, dir), start(t, dir), start(t, dir)];
    const lines = await Promise.all(started.map(({ line }) => line));
    assert.equal(lines.filter((line) => line === 'held').length, 1, lines.join('\n'));
    const holder = started[lines.indexOf('held')]?.process;
    assert.ok(holder);
    assert.throws(() => lockFolder(dir, 'fleet down'), {
      code: 'CAPACITY',
      message: new RegExp(
        `^fleet up \\(process ${holder.pid}, since 20.*\\) is at work on ${dir}: wait until it has ended, or end it \\(kill ${holder.pid}\\), then try again$`,
      ),
    });
    const file = join(dir, 'fleet.lock.json');
    renameSync(file, `${file}.later`);
    spawn('sh', ['-c', `sleep 0.1; mv ${file}.later ${file}`]);
    assert.throws(
      () => lockFolder(dir, 'fleet down'),
      /^FleetError: fleet up /,
      'it has not named itself yet',
    );
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    lockFolder(dir, 'fleet down')[Symbol.dispose]();
    assert.deepEqual(readdirSync(dir), []);
  },
);

test('commands that take the lock again and again are never inside together', deadline, async (t) => {
  const dir = join(tempDir(t), 'a/fleet');
  mkdirSync(join(dir, '..'));
  const started = [1, 2, 3].map(() => start(t, dir, '40'));
  assert.deepEqual(await Promise.all(started.map(({ line }) => line)), ['done', 'done', 'done']);
  assert.deepEqual(existsSync(dir) ? readdirSync(dir) : [], []);
});

test('a lock leaves the folder as it was, and a folder that it made with what was put there', (t) => {
  const top = tempDir(t);
  const dir = join(top, 'a/b');
  {
    using _first = lockFolder(dir, 'fleet restore');
    assert.deepEqual(new Set(readdirSync(dir)), LOCK_FILES);
    assert.throws(() => lockFolder(dir, 'fleet restore'), { code: 'CAPACITY' });
  }
  assert.deepEqual(readdirSync(top), []);
  {
    using _second = lockFolder(dir, 'fleet up');
    mkdirSync(join(dir, 'run'));
  }
  assert.deepEqual(readdirSync(dir), ['run']);
  {
    using _third = lockFolder(dir, 'fleet down');
  }
  assert.deepEqual(readdirSync(dir), ['run']);
});

test('a folder in which no lock can be made is an error that names it', (t) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'file'), '');
  assert.throws(() => lockFolder(join(dir, 'file'), 'fleet up'), {
    code: 'CONFIG_INVALID',
    message: /^fleet up cannot lock .*file\/fleet\.lock: /,
  });
  writeFileSync(join(dir, 'fleet.lock'), 'not a database, but a long text '.repeat(100));
  assert.throws(() => lockFolder(dir, 'fleet up'), {
    code: 'CONFIG_INVALID',
    message: /^fleet up cannot lock .*\/fleet\.lock: file is not a database/,
  });
});
