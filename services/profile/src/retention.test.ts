import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

const MAIN = join(import.meta.dirname, 'main.ts');
const DAY_MS = 86_400_000;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address ? address.port : assert.fail('no port');
}

/** Starts the profile, and stops it when it has logged the message. Returns that line of the log. */
async function runUntil(t: TestContext, home: string, message: string): Promise<Record<string, unknown>> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [MAIN, '--profile', 'neo'], {
    env: { PATH, NODE_COMPILE_CACHE, HERMES_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  let found: Record<string, unknown> | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (found !== undefined || !line.includes(message)) continue;
    found = JSON.parse(line);
    child.kill('SIGTERM');
  }
  await closed;
  return found ?? assert.fail(`the profile ended without logging: ${message}`);
}

const age = (path: string, days: number): void => {
  const then = new Date(Date.now() - days * DAY_MS);
  utimesSync(path, then, then);
};

test('a profile removes the contexts and results that its configuration says are too old', {
  timeout: 60_000,
}, async (t) => {
  const home = tempDir(t);
  const dir = join(home, 'profiles/neo');
  mkdirSync(dir, { recursive: true });
  const server = { bind_port: await freePort(), auth_required: false };
  const retention = { finished_tasks_days: 2, results_days: 5 };
  writeFileSync(join(dir, 'fleet.yaml'), JSON.stringify({ fleet: { tier: 'haiku', server, retention } }));
  const config = { model: 'offline/runbook', tools: { shell: { confine: 'unconfined' } } };
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify(config));
  writeFileSync(join(dir, 'IDENTITY.md'), '# neo\n\nA profile.\n');
  await runUntil(t, home, 'listening');

  const workspace = join(dir, 'workspace');
  for (const [name, days] of [
    ['old', 3],
    ['recent', 1],
  ] as const) {
    mkdirSync(join(workspace, 'contexts', name, 'tree'), { recursive: true });
    writeFileSync(join(workspace, 'contexts', name, 'context'), name);
    age(join(workspace, 'contexts', name, 'context'), days);
  }
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
      cwd: join(workspace, 'results.git'),
      encoding: 'utf8',
    }).trim();
  const tree = git('hash-object', '-t', 'tree', '-w', '/dev/null');
  for (const [name, days] of [
    ['gone', 6],
    ['younger', 4],
  ] as const) {
    git('update-ref', `refs/heads/fleet/${name}`, git('commit-tree', '-m', name, tree));
    age(join(workspace, 'results.git/logs/refs/heads/fleet', name), days);
  }
  const { contexts, results } = await runUntil(t, home, 'contexts and results removed');
  assert.deepEqual({ contexts, results }, { contexts: 1, results: 1 });
  assert.equal(existsSync(join(workspace, 'contexts/old')), false);
  assert.equal(existsSync(join(workspace, 'contexts/recent')), true);
  assert.equal(git('for-each-ref', '--format=%(refname)'), 'refs/heads/fleet/younger');
});
