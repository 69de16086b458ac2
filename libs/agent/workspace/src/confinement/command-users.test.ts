import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { landlockHelper, withoutLandlock } from '../../testing/landlock-helper.ts';
import { makePlace, mayChangeUsers, type Place } from '../../testing/place.ts';
import { anchoredFiles } from '../files/anchored-path.ts';
import { COMMAND_ENV } from '../process/command-env.ts';
import { processesOf } from '../process/proc.ts';
import { runCommand } from '../process/run-command.ts';
import type { CommandUser } from './command-user.ts';
import type { CommandUsers, UserLease } from './command-users.ts';
import { makeSharedDirectory } from './confinement.ts';
import { createConfinement } from './create-confinement.ts';
import { defaultUsers, type UserRange } from './user-range.ts';

const skip = mayChangeUsers ? false : 'this user may not change users';

/** The users of a workspace, and commands that run as one of them, without Landlock: users alone must keep them apart. */
async function open(t: TestContext, place: Place = makePlace(t), users?: UserRange) {
  const options = { confine: 'uid', ...place, users, programs: { landlock: '/nowhere/helper' } } as const;
  const confinement = await createConfinement({ ...options, clock: systemClock, log: silentLog });
  assert.ok(confinement.users, confinement.note);
  const contexts = join(place.workspaceRoot, 'contexts');
  const pool: CommandUsers = confinement.users;
  const lineAs = (user: CommandUser, script: string) =>
    confinement.wrap('/bin/sh', ['-c', script], { writable: [], readOnly: [], user });
  return {
    contexts,
    pool,
    /** A context with a folder for its commands. */
    async lease(name: string): Promise<UserLease & { readonly tree: string }> {
      const lease = await pool.lease(join(contexts, name));
      const tree = join(contexts, name, 'tree');
      await makeSharedDirectory(tree, true, lease.user);
      return { ...lease, tree };
    },
    async run(user: CommandUser, script: string) {
      const limits = { timeoutMs: 30_000, keepBytes: 10_000, maxBytes: 1e6, clock: systemClock };
      return runCommand(lineAs(user, script), { cwd: '/', env: COMMAND_ENV, ...limits });
    },
    /** Starts a command that nobody ends, as one that a crashed gateway left; resolves when it prints. */
    async leave(user: CommandUser, script: string): Promise<ChildProcess> {
      const line = lineAs(user, script);
      const child = spawn(line.command, line.args, {
        env: COMMAND_ENV,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      t.after(() => child.kill('SIGKILL'));
      await once(child.stdout, 'data');
      return child;
    },
  };
}

test('each context has a user of its own, which its directory names, also for the next gateway', {
  skip,
}, async (t) => {
  const place = makePlace(t);
  const first = await open(t, place);
  const [a, b] = [await first.lease('a'), await first.lease('b')];
  assert.notEqual(a.user.uid, b.user.uid);
  const range = defaultUsers(place.workspaceRoot);
  for (const { user, tree } of [a, b]) {
    assert.ok(user.uid >= range.first && user.uid <= range.last && user.gid === user.uid);
    const { mode, uid, gid } = lstatSync(join(tree, '..'));
    assert.deepEqual([mode & 0o7777, uid, gid], [0o710, process.getuid?.(), user.gid]);
  }
  const seen = await first.run(
    a.user,
    `id -u; id -g; umask; touch ${a.tree}/x; stat -c '%u %g %a' ${a.tree}/x`,
  );
  const { uid } = a.user;
  assert.deepEqual(seen.stdout.split('\n'), [`${uid}`, `${uid}`, '0007', `${uid} ${uid} 660`, '']);
  await Promise.all([a.release(), b.release()]);
  const next = await open(t, place);
  const [c, again] = [await next.lease('c'), await next.lease('a')];
  assert.equal(again.user.uid, a.user.uid);
  assert.ok(![a.user.uid, b.user.uid].includes(c.user.uid));
});

test('two contexts that start at once get two users, and one that starts twice gets one', {
  skip,
}, async (t) => {
  const { pool, contexts } = await open(t);
  const names = ['a', 'b', 'a', 'b', 'c'];
  const leases = await Promise.all(names.map((name) => pool.lease(join(contexts, name))));
  const [a, b, a2, b2, c] = leases.map(({ user }) => user.uid);
  assert.deepEqual([a, b], [a2, b2]);
  assert.equal(new Set([a, b, c]).size, 3);
});

test('a command that kills all that it can ends no process of another context', { skip }, async (t) => {
  const { lease, run, leave } = await open(t);
  const [mine, theirs] = [await lease('mine'), await lease('theirs')];
  const { pid } = await leave(theirs.user, 'echo started; exec sleep 600');
  await run(mine.user, 'kill -9 -1');
  assert.ok(processesOf(theirs.user.uid).includes(pid ?? 0));
  await Promise.all([mine.release(), theirs.release()]);
});

test('nothing of a context runs or lies in shared folders after its release', {
  skip,
  timeout: 60_000,
}, async (t) => {
  const { lease, leave, run } = await open(t);
  const a = await lease('a');
  const { uid } = a.user;
  const name = `hermes-test-${uid}`;
  await leave(
    a.user,
    `(setsid sh -c 'trap "" TERM HUP; while :; do sleep 1; done' &)
     ( ( setsid nohup sh -c 'while :; do setsid sh -c ":" & wait $!; done' >/dev/null 2>&1 & ) & )
     echo started; sleep 600`,
  );
  // None of them is gone for good: a process that starts the next one and exits is at no pid for long.
  while (processesOf(uid).length < 3) await systemClock.sleep(5);
  const made = await run(
    a.user,
    `mkdir -p /tmp/${name}/d /dev/shm/-${name}; echo x > /tmp/${name}/d/f; chmod 0 /tmp/${name}/d
     ln -s /etc '/tmp/${name} s'; if [ -w /dev/mqueue ]; then : > /dev/mqueue/${name}; fi; ipcmk -M 64 && ipcmk -S 1 && ipcmk -Q`,
  );
  assert.equal(made.exitCode, 0, made.stderr);
  const places = ['/tmp', '/dev/shm', '/dev/mqueue'].filter((place) => existsSync(place));
  const segments = (): number =>
    ['shm', 'sem', 'msg'].filter((kind) =>
      new RegExp(`\\b${uid}\\b`).test(readFileSync(`/proc/sysvipc/${kind}`, 'utf8')),
    ).length;
  const files = (): string[] =>
    places.flatMap((place) => readdirSync(place).filter((found) => found.includes(name)));
  assert.deepEqual([segments(), files().length], [3, places.length + 1]);
  await a.release();
  assert.deepEqual([processesOf(uid), segments(), files()], [[], 0, []]);
  assert.ok(existsSync('/etc/passwd'));
});

test('a process that kills all others of its user cannot stay', { skip }, async (t) => {
  const { lease, leave } = await open(t);
  const a = await lease('a');
  await leave(a.user, 'echo started; while :; do kill -9 -1; done 2>/dev/null');
  await a.release();
  assert.deepEqual(processesOf(a.user.uid), []);
});

test('the last of two who hold a user ends its processes', { skip }, async (t) => {
  const { lease, leave, contexts, pool } = await open(t);
  const [task, server] = [await lease('a'), await pool.lease(join(contexts, 'a'))];
  const { pid } = await leave(server.user, 'echo started; exec sleep 600');
  await task.release();
  await task.release();
  assert.deepEqual(processesOf(server.user.uid), [pid]);
  await server.release();
  assert.deepEqual(processesOf(server.user.uid), []);
});

test('what a crashed gateway left of a context is ended before its next use', { skip }, async (t) => {
  const place = makePlace(t);
  const crashed = await open(t, place);
  const { user } = await crashed.lease('a');
  await crashed.leave(user, 'echo started; exec sleep 600');
  await crashed.run(user, `: > /tmp/hermes-test-${user.uid}`);
  const next = await open(t, place);
  const again = await next.lease('a');
  assert.equal(again.user.uid, user.uid);
  assert.deepEqual(processesOf(user.uid), []);
  assert.equal(existsSync(`/tmp/hermes-test-${user.uid}`), false);
});

test('a chain of processes that a crashed gateway left is ended too', { skip }, async (t) => {
  const place = makePlace(t);
  const crashed = await open(t, place);
  const { user, tree } = await crashed.lease('a');
  const alive = join(tree, 'alive');
  // Each process starts the next one, leaves a trace and exits: a look at the processes seldom finds one.
  await crashed.leave(user, `export c='sh -c "$c" & : > ${alive}'; sh -c "$c"; echo started`);
  const again = await (await open(t, place)).lease('a');
  t.after(() => again.release());
  rmSync(alive, { force: true });
  for (let look = 0; look < 50; look += 1) {
    assert.equal(existsSync(alive), false, 'the chain goes on');
    await systemClock.sleep(10);
  }
});

test('a release whose processes cannot be ended rejects, and the next use ends them', {
  skip: skip || withoutLandlock,
}, async (t) => {
  const place = makePlace(t);
  const works = await open(t, place);
  let now = 0;
  const clock = { ...systemClock, now: () => (now += 1000) };
  // From now on, the helper cannot run the shell that ends the processes of a user.
  const helper = join(place.stateDir, 'helper');
  symlinkSync(landlockHelper(), helper);
  const programs = { landlock: helper };
  const fails = await createConfinement({ confine: 'uid', ...place, programs, clock, log: silentLog });
  const lease = await fails.users?.lease(join(works.contexts, 'a'));
  assert.ok(lease);
  rmSync(helper);
  symlinkSync('/bin/false', helper);
  await works.run(lease.user, `: > /tmp/hermes-test-${lease.user.uid}`);
  const released = lease.release();
  const meanwhile = fails.users?.lease(join(works.contexts, 'a'));
  await assert.rejects(released, /cannot be ended/);
  await assert.rejects(meanwhile ?? assert.fail(), /cannot be ended/);
  await works.leave(lease.user, 'echo started; exec sleep 600');
  await assert.rejects(fails.users?.lease(join(works.contexts, 'a')) ?? assert.fail(), /cannot be ended/);
  await works.leave(lease.user, 'echo started; exec sleep 600');
  await works.lease('a');
  assert.deepEqual(processesOf(lease.user.uid), []);
  assert.equal(existsSync(`/tmp/hermes-test-${lease.user.uid}`), false);
});

test('what ends the processes of a user is filtered as they are, and ended before the gateway', {
  skip: skip || withoutLandlock,
}, async (t) => {
  const place = makePlace(t);
  const [helper, log] = [join(place.stateDir, 'helper'), join(place.stateDir, 'log')];
  const started = `echo "$(cat /proc/self/oom_score_adj) $*" >> ${log}; exec ${landlockHelper()} "$@"`;
  writeFileSync(helper, `#!/bin/sh\n${started}\n`, { mode: 0o755 });
  const programs = { landlock: helper };
  const options = { confine: 'uid', ...place, programs, clock: systemClock, log: silentLog } as const;
  const { users } = await createConfinement(options);
  const lease = await users?.lease(join(place.workspaceRoot, 'contexts', 'a'));
  const { uid } = lease?.user ?? assert.fail();
  await lease?.release();
  const lines = readFileSync(log, 'utf8').split('\n');
  const kills = lines.filter((line) => line.includes('kill -9 -1'));
  assert.ok(kills.length > 0);
  for (const line of kills)
    assert.match(line, new RegExp(`--user ${uid} --seccomp \\S+ -- /bin/sh -c echo 900 > `));
});

test('a removed context frees its user, whatever its commands closed', { skip }, async (t) => {
  const { first } = defaultUsers(`${t.name} ${process.pid}`);
  const { lease, run, pool, contexts } = await open(t, undefined, { first, last: first + 1 });
  const [a, b] = [await lease('a'), await lease('b')];
  await assert.rejects(lease('c'), (error) => error instanceof FleetError && error.code === 'QUEUE_FULL');
  mkdirSync(join(a.tree, 'of-the-gateway'));
  await run(a.user, `cd ${a.tree}; mkdir -p d/e; echo x > d/e/f; ln -s ${b.tree} link; chmod 0 d/e d`);
  await run(b.user, `echo x > ${b.tree}/kept`);
  await assert.rejects(pool.remove(join(contexts, 'a')), /in use/);
  await a.release();
  await pool.remove(join(contexts, 'a'));
  await pool.remove(join(contexts, 'a'));
  assert.deepEqual(readdirSync(contexts), ['b']);
  assert.deepEqual(readdirSync(b.tree), ['kept']);
  assert.equal((await lease('c')).user.uid, a.user.uid);
});

test('what a command closed is opened to the gateway again, without what others own', { skip }, async (t) => {
  const { lease, run, pool } = await open(t);
  const a = await lease('a');
  await run(
    a.user,
    `cd ${a.tree}; mkdir -p d/e; echo x > d/e/f; ln -s /etc/passwd d/e/link; chmod 0 d/e/f d/e d`,
  );
  await pool.reopen(a.user, [a.tree]);
  const modes = ['d', 'd/e', 'd/e/f'].map((path) => lstatSync(join(a.tree, path)).mode & 0o770);
  assert.deepEqual(modes, [0o770, 0o770, 0o660]);
  await pool.reopen(a.user, []);
});

test('what the gateway writes into a context belongs to its user too', { skip }, async (t) => {
  const { lease, run } = await open(t);
  const a = await lease('a');
  const files = anchoredFiles(a.tree, true, a.user);
  await run(a.user, `cd ${a.tree}; mkdir d; chmod g-s d`);
  for (const path of ['new', 'd/new', 'e/new']) await (await files.openFile(path, 'create')).close();
  const edited = await run(
    a.user,
    `cd ${a.tree} && echo x >> new && echo x >> d/new && rm e/new && touch e/own`,
  );
  assert.equal(edited.exitCode, 0, edited.stderr);
});

test('a context of a user outside of the range is refused', { skip }, async (t) => {
  const place = makePlace(t);
  const before = await open(t, place);
  await (await before.lease('a')).release();
  const { first } = defaultUsers(`${t.name} ${process.pid}`);
  const after = await open(t, place, { first, last: first + 9 });
  await assert.rejects(after.lease('a'), /outside of the configured range/);
});
