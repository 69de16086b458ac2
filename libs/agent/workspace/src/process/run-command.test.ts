import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { cannotConfine, commandsFolder, makePlace } from '../../testing/index.ts';
import { createConfinement } from '../confinement/create-confinement.ts';
import { recorded } from '../confinement/leftovers.ts';
import { COMMAND_ENV } from './command-env.ts';
import { createCommandRecords } from './command-records.ts';
import { type RunOptions, runCommand } from './run-command.ts';

/** The actual time is reported as a diagnostic; this bound allows for a busy machine. */
const GENEROUS_MS = 3000;

/** Ignores termination signals, leaves its process group and session, and forks forever. */
const STUBBORN = `
  trap '' TERM HUP INT QUIT
  beats='trap "" TERM HUP INT; exec > "$1"; while :; do echo x; sleep 0.02; done'
  sh -c "$beats" sh group & setsid sh -c "$beats" sh session & ( ( setsid nohup sh -c "$beats" sh double 2>&1 & ) & )
  forks='trap "" TERM; while :; do setsid sh -c ":" & wait $!; done'
  setsid sh -c "$forks" &
  exec > leader; while :; do echo x; sleep 0.02; done`;
const PIPES = ['group', 'session', 'double', 'leader'];

for (const confine of ['bubblewrap', 'uid', 'unconfined'] as const) {
  for (const by of ['abort', 'timeout'] as const) {
    test(`a command that resists termination is gone after its ${by} (${confine})`, {
      skip: confine === 'unconfined' ? false : cannotConfine(confine),
      timeout: 60_000,
    }, async (t) => {
      const place = makePlace(t);
      const made = await createConfinement({ confine, ...place, clock: systemClock, log: silentLog });
      const dir = join(place.stateDir, 'commands');
      const confinement = recorded(made, createCommandRecords(dir, { byEnv: confine !== 'bubblewrap' }));
      const cwd = await commandsFolder(place, made);
      const reach = { writable: [cwd], readOnly: [] };
      const limits = { timeoutMs: 30_000, keepBytes: 1000, maxBytes: 1e6, clock: systemClock };
      const run = (script: string, options: Partial<RunOptions> = {}) =>
        runCommand(confinement.wrap('/bin/sh', ['-c', script], reach), {
          cwd,
          env: COMMAND_ENV,
          ...limits,
          ...options,
        });
      assert.equal((await run(`mkfifo -m 666 ${PIPES.join(' ')}`)).exitCode, 0);
      const readers = PIPES.map((name) => {
        const cat = spawn('cat', [join(cwd, name)], { stdio: ['ignore', 'pipe', 'inherit'] });
        t.after(() => cat.kill('SIGKILL'));
        return { beat: once(cat.stdout, 'data'), over: once(cat, 'close'), drained: cat.stdout.resume() };
      });
      const canceled = new AbortController();
      let endIt = (): void => canceled.abort(new Error('canceled'));
      const clock = {
        ...systemClock,
        timer(fn: () => void) {
          if (by === 'timeout') endIt = fn;
          return { [Symbol.dispose]() {} };
        },
      };
      const running = run(STUBBORN, { signal: canceled.signal, clock });
      const ended = by === 'abort' ? assert.rejects(running, /canceled/) : running;
      await Promise.all(readers.map(({ beat }) => beat));
      assert.equal(readdirSync(dir).length, 1);
      const started = performance.now();
      endIt();
      const told = await ended;
      const toldMs = performance.now() - started;
      await Promise.all(readers.map(({ over }) => over));
      const ms = performance.now() - started;
      t.diagnostic(`gone after ${Math.round(ms)} ms, told after ${Math.round(toldMs)} ms`);
      assert.ok(ms < GENEROUS_MS, `${ms} ms`);
      if (by === 'timeout') assert.equal(told?.killed, 'timeout');
      assert.deepEqual(readdirSync(dir), []);
    });
  }
}

const plainly = (t: TestContext) => {
  const cwd = tempDir(t);
  return { cwd, env: COMMAND_ENV, timeoutMs: 30_000, keepBytes: 100, maxBytes: 1e6, clock: systemClock };
};

test('a command reads its standard input, and its output is passed on as it arrives', async (t) => {
  const o = plainly(t);
  writeFileSync(join(o.cwd, 'in'), 'from a file\n'.repeat(1000));
  const stdin = openSync(join(o.cwd, 'in'), 'r');
  let seen = 0;
  const result = await runCommand(
    { command: 'cat', args: [] },
    { ...o, stdin, onStdout: (chunk) => (seen += chunk.length) },
  );
  closeSync(stdin);
  assert.equal(result.exitCode, 0);
  assert.equal(seen, 12_000);
  assert.match(result.stdout, /^from a file.*bytes left out.*from a file\n$/s);
  const nothing = await runCommand({ command: 'cat', args: [] }, o);
  assert.equal(nothing.stdout, '');
});

test('a command that cannot be started leaves no record', async (t) => {
  const o = plainly(t);
  const dir = join(o.cwd, 'commands');
  const records = createCommandRecords(dir, { byEnv: true });
  const line = { command: join(o.cwd, 'absent'), args: [], records };
  await assert.rejects(runCommand(line, o), { code: 'ENOENT' });
  assert.deepEqual(readdirSync(dir), []);
  const found = await runCommand({ command: '/bin/sh', args: ['-c', 'echo $FLEET_COMMAND_ID'], records }, o);
  assert.match(found.stdout, /^[0-9a-f-]{36}\n$/);
});
