import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { closedToOthers, nodeForOthers } from '../testing/other-users.ts';
import { cannotConfine, makePlace } from '../testing/place.ts';
import { makeSharedDirectory } from './confinement.ts';
import { createConfinement } from './create-confinement.ts';

const PLAIN = 1500;
const isRoot = process.getuid?.() === 0;
const skip = cannotConfine('bubblewrap') || (isRoot && closedToOthers(import.meta.filename));

/** What a gateway of a plain user says of its bubblewrap, and whether its commands can make a user namespace. */
function asPlainUser(t: TestContext, bwrap: string): { note: string; less?: string; nests: boolean } {
  const root = tempDir(t);
  const [workspaceRoot, stateDir] = ['workspace', 'state'].map((name) => join(root, name));
  for (const path of [root, stateDir ?? '']) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (isRoot) chownSync(path, PLAIN, PLAIN);
  }
  const options = { confine: 'bubblewrap', workspaceRoot, stateDir, programs: { bwrap } };
  const script = `
    import { spawnSync } from 'node:child_process';
    import { systemClock, silentLog } from '@hermes-fleet/protocol';
    import { createConfinement } from './src/confinement/create-confinement.ts';
    const options = ${JSON.stringify(options)};
    const { wrap, note, less } = await createConfinement({ ...options, clock: systemClock, log: silentLog });
    const line = wrap('unshare', ['--user', 'true'], { writable: [], readOnly: [] });
    console.log(JSON.stringify({ note, less, nests: spawnSync(line.command, line.args).status === 0 }));`;
  const node = [nodeForOthers(t), '--input-type=module', '--eval', script];
  const drop = ['setpriv', '--reuid', `${PLAIN}`, '--regid', `${PLAIN}`, '--clear-groups', '--inh-caps=-all'];
  const [command = '', ...args] = isRoot ? [...drop, ...node] : node;
  const cwd = join(import.meta.dirname, '../..');
  const ran = spawnSync(command, args, { cwd, encoding: 'utf8', env: { PATH: process.env.PATH } });
  assert.equal(ran.status, 0, ran.stderr);
  return JSON.parse(ran.stdout);
}

test('bubblewrap closes nested user namespaces where it can, and says where it cannot', { skip }, (t) => {
  const closed = asPlainUser(t, 'bwrap');
  assert.deepEqual(closed, { note: 'shell commands run confined by bubblewrap, as this user', nests: false });
  const folder = tempDir(t);
  chmodSync(folder, 0o755);
  const older = join(folder, 'bwrap');
  const refuses = 'case " $* " in *" --disable-userns "*) echo "bwrap: Unknown option" >&2; exit 1 ;; esac';
  writeFileSync(older, `#!/bin/sh\n${refuses}\nexec bwrap "$@"\n`, { mode: 0o755 });
  const open = asPlainUser(t, older);
  assert.equal(open.nests, true);
  assert.match(open.less ?? '', /^commands can make user namespaces \(bubblewrap is older than 0\.8\)$/);
});

test('bubblewrap started by root names what it does not close, and runs a context as its user', {
  skip: !isRoot || skip,
}, async (t) => {
  const options = { confine: 'bubblewrap', ...makePlace(t), clock: systemClock, log: silentLog } as const;
  const { note, less, users, wrap } = await createConfinement(options);
  assert.match(note, /by bubblewrap, as another user; commands can make user namespaces/);
  assert.match(less ?? '', /runs as root/);
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
