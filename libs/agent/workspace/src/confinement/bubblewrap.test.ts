import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { closedToOthers, nodeForOthers } from '../../testing/other-users.ts';
import { cannotConfine, makePlace } from '../../testing/place.ts';
import { makeSharedDirectory } from './confinement.ts';
import { createConfinement } from './create-confinement.ts';

const PLAIN = 1500;
const isRoot = process.getuid?.() === 0;
const skip = cannotConfine('bubblewrap') || (isRoot && closedToOthers(import.meta.filename));

/** What a gateway of a plain user says of its bubblewrap. */
function asPlainUser(t: TestContext): string {
  const root = tempDir(t);
  const [workspaceRoot, stateDir] = ['workspace', 'state'].map((name) => join(root, name));
  for (const path of [root, stateDir ?? '']) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (isRoot) chownSync(path, PLAIN, PLAIN);
  }
  const options = { confine: 'bubblewrap', workspaceRoot, stateDir };
  const script = `
    import { systemClock, silentLog } from '@hermes-fleet/protocol/ports';
    import { createConfinement } from './src/confinement/create-confinement.ts';
    const options = ${JSON.stringify(options)};
    const { note } = await createConfinement({ ...options, clock: systemClock, log: silentLog });
    console.log(note);`;
  const node = [nodeForOthers(t), '--input-type=module', '--eval', script];
  const drop = ['setpriv', '--reuid', `${PLAIN}`, '--regid', `${PLAIN}`, '--clear-groups', '--inh-caps=-all'];
  const [command = '', ...args] = isRoot ? [...drop, ...node] : node;
  const cwd = join(import.meta.dirname, '../..');
  const ran = spawnSync(command, args, { cwd, encoding: 'utf8', env: { PATH: process.env.PATH } });
  assert.equal(ran.status, 0, ran.stderr);
  return ran.stdout.trim();
}

const PROTECTIONS =
  'on: files, command lines, signals, temporary files, system calls, oom_score_adj; off: abstract sockets (commands have the network of the machine), network (commands have the network of the machine)';

test('bubblewrap with a gateway of a user says which protections are on', { skip }, (t) => {
  assert.equal(asPlainUser(t), `shell commands run confined by bubblewrap, as this user; ${PROTECTIONS}`);
});

test('bubblewrap started by root says the same, and runs a context as its user', {
  skip: !isRoot || skip,
}, async (t) => {
  const options = { confine: 'bubblewrap', ...makePlace(t), clock: systemClock, log: silentLog } as const;
  const { note, users, wrap } = await createConfinement(options);
  assert.equal(note, `shell commands run confined by bubblewrap, as another user; ${PROTECTIONS}`);
  assert.ok(users);
  const contexts = join(options.workspaceRoot, 'contexts');
  const lease = await users.lease(join(contexts, 'a'));
  const { user } = lease;
  const tree = join(contexts, 'a', 'tree');
  await makeSharedDirectory(tree, true, user);
  const line = wrap('/bin/sh', ['-c', 'id -u; umask; touch x'], { writable: [tree], readOnly: [], user });
  const ran = spawnSync(line.command, line.args, { cwd: tree, encoding: 'utf8' });
  assert.deepEqual(ran.stdout.split('\n'), [`${user.uid}`, '0007', ''], ran.stderr);
  const made = statSync(join(tree, 'x'));
  assert.deepEqual([made.uid, made.gid, made.mode & 0o777], [user.uid, user.gid, 0o660]);
  await lease.release();
});
