import assert from 'node:assert/strict';
import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { cannotConfine, committedFiles, openTestContexts, type Place, setUpBy } from '../../testing/index.ts';

/** Leaves an id that is another one with each run. */
const ID = 'mkdir -p node_modules; head -c 9 /dev/urandom | base64 | tr / _ > node_modules/id';
const outcomesOf = ({ workspaceRoot }: Place): string[] => readdirSync(join(workspaceRoot, 'set-ups'));

for (const [what, damage] of [
  ['without an archive', (folder: string) => rmSync(join(folder, 'tree.tar'))],
  ['with a part of an archive', (folder: string) => truncateSync(join(folder, 'tree.tar'), 700)],
  ['of which nobody knows where it was made', (folder: string) => truncateSync(join(folder, 'folder'))],
] as const) {
  test(`an outcome ${what} is made anew, once for all`, { timeout: 120_000 }, async (t) => {
    const { path } = committedFiles(t, { 'package.json': '{}\n' });
    const log = recordingLog();
    const contexts = await openTestContexts(t, { path, setUp: setUpBy([ID]), log });
    const id = async (name: string): Promise<string> => {
      const { stdout, left } = await contexts.task(name, 'cat node_modules/id');
      assert.equal(left, undefined);
      return stdout;
    };
    const first = await id('one');
    const [outcome = ''] = outcomesOf(contexts.place);
    damage(join(contexts.place.workspaceRoot, 'set-ups', outcome));
    const [two, three] = await Promise.all([id('two'), id('three')]);
    assert.match(two, /^.{12}\n$/);
    assert.notEqual(two, first);
    assert.deepEqual([three, await id('four')], [two, two]);
    assert.deepEqual(outcomesOf(contexts.place), [outcome]);
    assert.equal(log.messages.filter((message) => /set-up of a commit runs/.test(message)).length, 2);
  });
}

test('the folder in which a set-up runs has a name that no other command can know', {
  timeout: 120_000,
}, async (t) => {
  const { path } = committedFiles(t, { 'package.json': '{}\n' });
  const setUp = setUpBy(['pwd >&2; exit 1']);
  const names = new Set<string>();
  for (const _ of [1, 2]) {
    const contexts = await openTestContexts(t, { path, setUp });
    await using workspace = await contexts.open('one');
    names.add(
      /\.set-up-[0-9a-f]{20}-[0-9a-f]{12}(?=\/tree$)/.exec(workspace.setUp?.failure?.output ?? '')?.[0] ?? '',
    );
  }
  assert.equal(names.size, 2);
  assert.ok(!names.has(''));
});

test('the commands have a shell and variables, and a change of these is another set-up', {
  timeout: 120_000,
}, async (t) => {
  const { path } = committedFiles(t, { 'package.json': '{}\n' });
  const commands = ['echo "$0 $GREETING" > shell; [ -d "$HOME" ]'];
  const first = await openTestContexts(t, { path, setUp: setUpBy(commands, { shell: '/bin/bash' }) });
  assert.equal((await first.task('one', 'cat shell')).stdout, '/bin/bash \n');
  const env = { GREETING: 'it\'s $HOME; "x"' };
  const { place } = first;
  for (const [name, shell] of [
    ['two', '/bin/bash'],
    ['three', '/bin/sh'],
  ] as const) {
    const contexts = await openTestContexts(t, { path, place, setUp: setUpBy(commands, { shell, env }) });
    assert.equal((await contexts.task(name, 'cat shell')).stdout, `${shell} ${env.GREETING}\n`);
  }
});

test('where contexts share a user that nothing restricts, each has a set-up of its own', {
  timeout: 120_000,
  skip: cannotConfine('uid'),
}, async (t) => {
  const { path } = committedFiles(t, { 'package.json': '{}\n' });
  const users = { first: 2 ** 32, last: 2 ** 32 + 9 };
  const shared = { confine: 'uid', users, programs: { landlock: '/nowhere/helper' } } as const;
  const contexts = await openTestContexts(t, { ...shared, path, setUp: setUpBy([ID]) });
  const { stdout: one } = await contexts.task('one', 'cat node_modules/id');
  const { stdout: two } = await contexts.task('two', 'cat node_modules/id');
  assert.match(one, /^.{12}\n$/);
  assert.notEqual(one, two);
  assert.deepEqual(outcomesOf(contexts.place), []);
});
