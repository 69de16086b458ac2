import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { ComposeFleet } from './compose.ts';
import { ROOT, runProgram } from './fleet.ts';
import {
  callDuring,
  callDuringFlood,
  driveAsPage,
  driveTraderAsPage,
  floodCommand,
  PROXIED_FLOOD,
} from './flood.ts';
import { type OpenContainer, startOpenContainer } from './profile-container.ts';
import { call, dispatch, message, resultOf, runbook, type Target } from './rpc.ts';
import { brokenProject, FIX } from './users-repository.ts';

/** Runs a task in a context, and returns its result. */
async function run(target: Target, contextId: string, brief: string) {
  const { body } = await call(target, 'SendMessage', message(dispatch({ brief }), { contextId }));
  return resultOf(body.result?.task) ?? assert.fail(JSON.stringify(body));
}

/** A task destroys all of git that it can reach, and sets a neighbour's branch: contexts old and new go on. */
export async function disableProfile(target: Target): Promise<void> {
  const victim = await run(target, 'owner', runbook('kept.txt', 'the owner wrote this', 'cat kept.txt'));
  assert.equal(victim.status, 'done', victim.text);
  const attack = [
    'd=$(git rev-parse --git-common-dir); git update-ref refs/heads/fleet/owner HEAD',
    'for r in /workspace/base.git /workspace/results.git /workspace/contexts/owner/tree/.git $d; do rm -rf $r/objects $r/refs; done',
    'rm -rf /workspace/base.git /workspace/results.git /workspace/contexts/owner; echo attacked',
  ].join('; ');
  const attacked = await run(target, 'destroyer', runbook('a.txt', 'a', attack));
  assert.match(attacked.text, /attacked/);
  assert.deepEqual(attacked.artifacts.files_changed, ['a.txt'], attacked.text);
  assert.equal((await fetch(`${target.url}/ready`)).status, 200);
  const look = 'cat kept.txt 2>/dev/null; git log --format=%s; git fsck --strict';
  for (const context of ['owner', 'destroyer', 'stranger']) {
    const next = await run(target, context, runbook('next.txt', 'work', look));
    assert.deepEqual([next.status, next.artifacts.files_changed], ['done', ['next.txt']], next.text);
    assert.equal(/the owner wrote this/.test(next.text), context === 'owner', context);
  }
}

/** Floods of idle connections, from the machine and from a task of another container, disturb no caller. */
export async function lockPorts(t: TestContext, fleet: ComposeFleet): Promise<void> {
  const neo = await fleet.target('neo');
  await callDuringFlood(t, neo, PROXIED_FLOOD);
  let over = false;
  const calls = await callDuring(t, neo, () => over);
  const brief = `\`\`\`sh\n${floodCommand('neo', 9220)}\n\`\`\``;
  const { text } = await run(await fleet.target('morpheus'), 'flooder', brief);
  over = true;
  await calls.ended;
  assert.match(text, /attacked/);
  assert.match(await fleet.compose('logs', '--no-color', 'neo'), /connections gave way/);
}

/** A foreign page drives neither a profile without authentication nor the trader. */
export async function driveAsBrowser(fleet: ComposeFleet, open: Pick<Target, 'url'>): Promise<void> {
  await driveAsPage(open, message(dispatch({ brief: runbook('a.txt', 'a', 'echo driven') })));
  const { body } = await call(
    { ...open, token: undefined },
    'SendMessage',
    message(dispatch({ brief: 'x' })),
  );
  assert.ok(body.result, 'the profile is open to others');
  await driveTraderAsPage(await fleet.target('trader'));
}

/** A task fills the disk up to the limit of its context: it is ended and told why, and a neighbour works on. */
export async function fillDisk({ url }: Pick<Target, 'url'>): Promise<void> {
  const open = { url, token: undefined };
  const fill = 'i=0; while [ $i -lt 100 ]; do head -c 20M /dev/zero > fill$i; i=$((i+1)); sleep 0.2; done';
  const filling = run(open, 'filling', runbook('a.txt', 'a', fill));
  const neighbour = await run(open, 'neighbour', runbook('a.txt', 'a', 'echo fine'));
  assert.equal(neighbour.status, 'done', neighbour.text);
  const { status, text } = await filling;
  assert.notEqual(status, 'done');
  assert.match(text, /files of this task take \d+ MiB of disk, and the limit is 100/);
  assert.equal((await run(open, 'neighbour', runbook('b.txt', 'b', 'echo fine'))).status, 'done');
}

/** A profile for the attacks that a fleet with authentication and room does not show. */
export const startOpenProfile = (t: TestContext, image: string) =>
  startOpenContainer(t, { image, config: { workspace: { max_mb: 100 } } });

/** The command of docs/operations.md makes a commit of one's own the base of new contexts in a container. */
export async function pushBase(
  t: TestContext,
  { url, name }: Pick<OpenContainer, 'url' | 'name'>,
): Promise<void> {
  const documented = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const line = /^git bundle create - HEAD \| .*(?= {3}# containers$)/m.exec(documented)?.[0] ?? assert.fail();
  const command = line.replace('docker compose exec -T -u 1000 neo', `docker exec -i -u 1000 ${name}`);
  assert.notEqual(command, line);
  const dir = tempDir(t);
  const make = `git init -q -b trunk; echo theirs > base.txt; git add -A
    git -c user.name=u -c user.email=u@localhost commit -qm "Of one's own"`;
  const pushed = await runProgram('sh', ['-c', `${make}; ${command}`], { cwd: dir });
  assert.equal(pushed.code, 0, pushed.stderr);
  const { text } = await run(
    { url, token: undefined },
    'newcomer',
    runbook('a.txt', 'a', 'cat base.txt; git log --format=%s'),
  );
  assert.match(text, /theirs\s+Of one's own/);
}

/** Sends a dirty checkout with a failing test from this machine, and takes the fix into it, with the command of this machine. */
export async function fixCheckout(t: TestContext, { url, token }: Target): Promise<void> {
  const project = brokenProject(t);
  const run = (...args: string[]) =>
    runProgram(process.execPath, [join(ROOT, 'libs/cli/src/main.ts'), ...args, '--reach', `switch=${url}`], {
      cwd: project.path,
      env: { ...process.env, FLEET_TOKEN: token },
      timeoutMs: 120_000,
    });
  const sent = await run('send', '--repo', '.', FIX, '-o', 'json');
  assert.equal(sent.code, 0, sent.stdout + sent.stderr);
  const { context_id: context } = JSON.parse(sent.stdout);
  const pulled = await run('pull', 'latest');
  assert.equal(pulled.code, 0, pulled.stderr);
  const branch = `fleet/${context.slice(-8)}`;
  assert.equal(project.git('rev-list', '--count', `main..${branch}`).trim(), '1');
  project.git('checkout', '-q', branch);
  assert.equal(spawnSync('sh', ['test.sh'], { cwd: project.path }).status, 0, 'the tests pass on the branch');
}
