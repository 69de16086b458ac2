import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { hasCode, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { makePlace, openTestContexts } from '../../testing/index.ts';
import { ownFolders } from './ownership.ts';

const skip = process.getuid?.() === 0 ? false : 'only root may give files to others';

test('a context goes on under another confinement, with all its files', { skip }, async (t) => {
  const place = makePlace(t);
  const log = recordingLog();
  const tree = join(place.workspaceRoot, 'contexts/one/tree');
  const owners = (): Set<string> =>
    new Set(execFileSync('find', [tree, '-printf', '%U\n'], { encoding: 'utf8' }).trim().split('\n'));
  for (const [at, confine] of (['uid', 'unconfined', 'bubblewrap', 'unconfined', 'uid'] as const).entries()) {
    const contexts = await openTestContexts(t, { place, confine, log });
    const script = `mkdir -p d; cat d/* 2>/dev/null; echo ${at} > d/${at}; chmod 600 d/${at}; id -u`;
    const { stdout, changed, stderr } = await contexts.task('one', script);
    const lines = stdout.trim().split('\n');
    assert.deepEqual(lines.slice(0, -1), [...Array(at).keys()].map(String), `${confine}: ${stderr}`);
    assert.deepEqual(changed, [`d/${at}`], confine);
    assert.deepEqual([...owners()], lines.slice(-1), confine);
  }
  assert.match(log.messages.join('\n'), /warn: the files of a context belong to user 0, .* were given over/);
});

const USER = { uid: 20_007, gid: 20_007 };
const uidOf = (path: string): number => statSync(path).uid;

/** A tree that belongs to this user and group, beside a file of the user outside of it. */
function makeTree(t: TestContext, { uid, gid }: { readonly uid: number; readonly gid: number }) {
  const dir = tempDir(t);
  const [context, outside] = [join(dir, 'context'), join(dir, 'outside')];
  const tree = join(context, 'tree');
  mkdirSync(tree, { recursive: true });
  const make = (path: string, owner: number): string => {
    writeFileSync(path, '');
    chownSync(path, owner, owner);
    return path;
  };
  make(outside, uid);
  chownSync(tree, uid, gid);
  const log = recordingLog();
  const folders = [tree, join(context, 'absent')];
  const own = (clock: Clock = systemClock): Promise<void> =>
    ownFolders(context, folders, { otherUser: true, user: USER, clock, log });
  return { outside, tree, log, own, make: (name: string, owner: number) => make(join(tree, name), owner) };
}

test('only files of the former users are given over, and what a link leads to is not', {
  skip,
}, async (t) => {
  // A container's gateway: it owns the folder and what its file tools make, and the commands' user has the group.
  const { outside, tree, own, make } = makeTree(t, { uid: 1000, gid: 20_003 });
  symlinkSync(outside, join(tree, 'link'));
  const files = [make('of-tools', 1000), make('of-commands', 20_003), make('of-others', 1002), outside, tree];
  await own();
  assert.deepEqual(files.map(uidOf), [20_007, 20_007, 1002, 1000, 20_007]);
});

test('a hard link that a task has planted does not take the file of a neighbour', { skip }, async (t) => {
  const { outside, tree, own, make, log } = makeTree(t, { uid: 1001, gid: 1001 });
  linkSync(outside, join(tree, 'planted'));
  const single = make('single', 1001);
  await own();
  assert.deepEqual([outside, single, tree].map(uidOf), [1001, 20_007, 20_007]);
  const entry = log.entries.find(({ message }) => /several hard links were not given over/.test(message));
  assert.match(JSON.stringify(entry), /"linked":1\b/);
});

test('a hand-over that is interrupted is repeated', { skip }, async (t) => {
  const { tree, own, make } = makeTree(t, { uid: 1001, gid: 1001 });
  for (let at = 0; at < 50; at += 1) mkdirSync(join(tree, `d${at}`));
  const files = [...Array(50).keys()].map((at) => make(`d${at}/file`, 1001));
  const timer: Clock['timer'] = (callback) => {
    callback();
    return { [Symbol.dispose]() {} };
  };
  await assert.rejects(own({ ...systemClock, timer }), hasCode('INTERNAL'));
  assert.equal(uidOf(tree), 1001);
  await own();
  assert.deepEqual(new Set([tree, ...files].map(uidOf)), new Set([20_007]));
});

test('a gateway that may not give files over names the users, and the command in its log', async (t) => {
  const dir = tempDir(t);
  const tree = join(dir, 'tree');
  mkdirSync(tree);
  const log = recordingLog();
  const user = { uid: 20_007, gid: 20_007 };
  const owned = ownFolders(dir, [tree], { otherUser: true, user, clock: systemClock, log, mayChown: false });
  await assert.rejects(owned, (error: Error) => {
    assert.ok(hasCode('INTERNAL')(error));
    assert.match(error.message, new RegExp(`belong to user ${process.getgid?.()}, .* run as user 20007`));
    assert.doesNotMatch(error.message, /tree/, 'a path is for the log only');
    return true;
  });
  assert.ok(JSON.stringify(log.entries).includes(`find ${tree} -xdev `), log.messages.join());
});
