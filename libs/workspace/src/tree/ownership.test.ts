import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol';
import { hasCode, recordingLog, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { makePlace, openTestContexts } from '../testing/index.ts';
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

test('only files of the former user are given over, and what a link leads to is not', { skip }, async (t) => {
  const dir = tempDir(t);
  const [context, outside] = [join(dir, 'context'), join(dir, 'outside')];
  const tree = join(context, 'tree');
  mkdirSync(tree, { recursive: true });
  for (const file of [outside, join(tree, 'own'), join(tree, 'others')]) writeFileSync(file, '');
  symlinkSync(outside, join(tree, 'link'));
  for (const file of [tree, join(tree, 'own'), outside]) chownSync(file, 1001, 1001);
  chownSync(join(tree, 'others'), 1002, 1002);
  const user = { uid: 20_007, gid: 20_007 };
  await ownFolders(context, [tree, join(context, 'absent')], {
    otherUser: true,
    user,
    clock: systemClock,
    log: silentLog,
  });
  const uids = [tree, join(tree, 'own'), join(tree, 'others'), outside].map((file) => statSync(file).uid);
  assert.deepEqual(uids, [20_007, 20_007, 1002, 1001]);
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
  assert.ok(JSON.stringify(log.entries).includes(`chown -Rh 20007:20007 ${tree}`), log.messages.join());
});
