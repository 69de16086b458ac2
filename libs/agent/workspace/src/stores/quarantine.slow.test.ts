import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { attackersGit } from '../../testing/attackers-git.ts';
import { makePlace } from '../../testing/index.ts';
import { createConfinement } from '../confinement/create-confinement.ts';
import { createGit } from '../git/git.ts';
import { openBase, ownOrigin } from './base.ts';
import { RefusedPack } from './quarantine.ts';
import { openResults, type Results } from './results.ts';

/** Two contexts; `attacker` writes packs with its own git, and knows an object of the other by its hash. */
async function setUp(t: TestContext) {
  const place = makePlace(t);
  const root = tempDir(t);
  const log = silentLog;
  const git = createGit({ profile: 'neo', clock: systemClock, log });
  const confinement = await createConfinement({ confine: 'unconfined', ...place, clock: systemClock, log });
  const base = await openBase({ dir: join(root, 'base.git'), git, confinement, log }, ownOrigin);
  const results = await openResults({ dir: join(root, 'results.git'), base, git, clock: systemClock, log });
  const { commit: start } = await base.start({});
  const repository = (name: string) => attackersGit(join(root, name), base.objects);
  return { root, results, start, repository };
}

async function offer(
  results: Results,
  content: Buffer,
  commit: string,
  base: string,
): Promise<string | undefined> {
  await using pack = results.passing();
  const { file } = pack;
  const handle = openSync(file, 'wx');
  closeSync(handle);
  writeFileSync(file, content);
  try {
    await using checked = await results.check({ file, commit, base });
    await checked.keep('attacker', { parent: base, message: 'Task' });
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RefusedPack, String(error));
    return error.message;
  }
}

test('a pack is taken when git accepts all of it and nothing is missing', async (t) => {
  const { results, start, repository } = await setUp(t);
  const { blob, tree, commit, pack } = repository('honest');
  const file = blob('work');
  const root = tree([['100644', 'a.txt', file]]);
  const id = commit(root, start);
  assert.equal(await offer(results, pack([file, root, id]), id, start), undefined);
  const { tip = '' } = await results.refs('attacker');
  assert.deepEqual(await results.changed(start, tip), ['a.txt']);
});

test('hostile packs are refused, and leave nothing behind', async (t) => {
  const { root, results, start, repository } = await setUp(t);
  const neighbour = repository('neighbour');
  const secret = neighbour.blob('the neighbour’s secret');
  const theirs = neighbour.tree([['100644', 'secret.txt', secret]]);
  const theirCommit = neighbour.commit(theirs, start);
  assert.equal(
    await offer(results, neighbour.pack([secret, theirs, theirCommit]), theirCommit, start),
    undefined,
  );

  const { blob, tree, commit, pack } = repository('attacker');
  const a = blob('a');
  const withSecret = tree([['100644', 'mine.txt', secret]]);
  const withTheirs = tree([['40000', 'mine', theirs]]);
  const dotGit = tree([['100644', '.git', a]]);
  const parent = tree([['40000', '..', tree([['100644', 'x', a]])]]);
  const slash = tree([['100644', 'x/../../y', a]]);
  const modules = blob('[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch /tmp/x\n');
  const submodule = tree([['100644', '.gitmodules', modules]]);
  const link = tree([['120000', '.gitmodules', a]]);
  const plain = tree([['100644', 'a', a]]);
  const good = commit(plain, start);
  const whole = pack([a, plain, good]);
  const named = (id: string): [Buffer, string] => {
    const made = commit(id, start);
    return [pack([a, id, made]), made];
  };
  const damaged = Buffer.from(whole);
  damaged[damaged.length - 30] = (damaged[damaged.length - 30] ?? 0) ^ 0xff;
  const attacks: Record<string, [Buffer, string]> = {
    'a blob of a neighbour, by its hash': named(withSecret),
    'a tree of a neighbour, by its hash': named(withTheirs),
    'the commit of a neighbour': [pack([a]), theirCommit],
    'a child of the commit of a neighbour': (() => {
      const child = commit(plain, theirCommit);
      return [pack([a, plain, child]), child] as [Buffer, string];
    })(),
    'a file named .git': named(dotGit),
    'a folder named ..': named(parent),
    'a name with slashes': named(slash),
    'a submodule whose address is an option': [
      pack([modules, submodule, commit(submodule, start)]),
      commit(submodule, start),
    ],
    'a link named .gitmodules': named(link),
    'a commit that is a blob': [pack([a]), a],
    'a commit that is a tree': [pack([a, plain]), plain],
    'no commit at all': [pack([a]), '0'.repeat(40)],
    'a cut pack': [whole.subarray(0, whole.length - 25), good],
    'a damaged pack': [damaged, good],
    'no pack': [Buffer.from('garbage'), good],
    'an empty file': [Buffer.alloc(0), good],
  };
  const { tip } = await results.refs('attacker');
  const before = readdirSync(join(root, 'results.git/objects'), { recursive: true });
  for (const [what, [content, id]] of Object.entries(attacks)) {
    const reason = await offer(results, content, id, start);
    assert.ok(reason, `${what} was taken`);
    t.diagnostic(`${what}: ${reason}`);
  }
  assert.equal((await results.refs('attacker')).tip, tip);
  assert.deepEqual(readdirSync(join(root, 'results.git/objects'), { recursive: true }), before);
  assert.deepEqual(readdirSync(join(root, 'results.git/packs')), []);
});

test('256 MB of zeros in a small pack are refused', async (t) => {
  const { root, results, start, repository } = await setUp(t);
  const { tree, commit, pack } = repository('attacker');
  const zeros = execFileSync(
    'sh',
    [
      '-c',
      'head -c 256000000 /dev/zero | git -C "$1" -c core.bigFileThreshold=1m hash-object -w --stdin',
      'sh',
      join(root, 'attacker'),
    ],
    { encoding: 'utf8' },
  ).trim();
  const folder = tree([['100644', 'zeros', zeros]]);
  const id = commit(folder, start);
  const bomb = pack([zeros, folder, id]);
  t.diagnostic(`${bomb.length} bytes`);
  assert.match((await offer(results, bomb, id, start)) ?? '', /a file is larger than/);
});
