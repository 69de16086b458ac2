import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeToolContext } from '../../testing/harness.ts';
import { progressTools, readProgress } from './progress.ts';

function workspaceOf(t: TestContext) {
  const base = tempDir(t);
  const root = join(base, 'ws');
  mkdirSync(root);
  const files = anchoredFiles(root, false);
  const context = makeToolContext({ dir: root, files });
  const [read, update] = progressTools();
  assert.ok(read && update);
  return {
    base,
    root,
    files,
    file: join(root, 'PROGRESS.json'),
    read: () => read.run({}, context),
    update: (input: object) => update.run(input, context),
  };
}

test('progress is kept between sessions, and each list is updated on its own', async (t) => {
  const { read, update, file, files, root } = workspaceOf(t);
  assert.equal((await read()).output, 'there is none yet');
  assert.deepEqual(await readProgress(files), { kind: 'none' });
  const first = await update({ accomplished: ['a'], remaining: ['b', 'c'] });
  assert.deepEqual(first.output, { accomplished: 1, remaining: 2, decisions: 0, blockers: 0 });
  await update({ remaining: [], blockers: ['no key'] });
  const progress = { accomplished: ['a'], remaining: [], decisions: [], blockers: ['no key'] };
  assert.deepEqual((await read()).output, progress);
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), progress);
  assert.deepEqual(await readProgress(files), { kind: 'progress', progress });
  writeFileSync(file, '{"remaining":["by hand"]}');
  assert.deepEqual((await read()).output, {
    ...progress,
    accomplished: [],
    remaining: ['by hand'],
    blockers: [],
  });
  assert.deepEqual(readdirSync(root), ['PROGRESS.json']);
});

test('an invalid update is refused and leaves the file unchanged', async (t) => {
  const { update, file } = workspaceOf(t);
  await update({ accomplished: ['kept'] });
  const before = readFileSync(file);
  for (const input of [
    { accomplished: 'no list' },
    { accomplished: [1] },
    { accomplished: ['x'.repeat(2001)] },
    { accomplished: Array.from({ length: 201 }, () => 'x') },
    { done: ['x'] },
    { accomplished: Array.from({ length: 100 }, () => 'x'.repeat(2000)) },
  ])
    assert.equal((await update(input)).ok, false, JSON.stringify(input).slice(0, 80));
  assert.deepEqual(readFileSync(file), before);
});

type Plant = (file: string, base: string) => void;

const INVALID: readonly (readonly [what: string, plant: Plant, problem: RegExp])[] = [
  ['no JSON', (file) => writeFileSync(file, '{"remaining": ['), /not JSON/],
  ['nothing at all', (file) => writeFileSync(file, ''), /not JSON/],
  ['no UTF-8', (file) => writeFileSync(file, Buffer.from([0x22, 0xff, 0x22])), /not JSON in UTF-8/],
  ['a list', (file) => writeFileSync(file, '[]'), /expected object/],
  ['another type', (file) => writeFileSync(file, '{"remaining":"x"}'), /expected array/],
  ['a number in a list', (file) => writeFileSync(file, '{"remaining":[1]}'), /expected string/],
  ['an unknown key', (file) => writeFileSync(file, '{"todo":["x"]}'), /Unrecognized key/],
  ['the prototype', (file) => writeFileSync(file, '{"__proto__":{"remaining":[]}}'), /Unrecognized key/],
  [
    'a huge file',
    (file) => {
      writeFileSync(file, '');
      truncateSync(file, 20 * 1024 ** 3);
    },
    /more than 65536/,
  ],
  ['a directory', (file) => mkdirSync(file), /not a regular file/],
  ['a pipe', (file) => void execFileSync('mkfifo', [file]), /not a regular file/],
  [
    'a link to a secret',
    (file, base) => {
      writeFileSync(join(base, 'secret'), '{"remaining":["top secret"]}');
      symlinkSync(join(base, 'secret'), file);
    },
    /symlink/,
  ],
  ['a link to nowhere', (file, base) => symlinkSync(join(base, 'nowhere'), file), /symlink/],
  [
    'a link to a file of the workspace',
    (file) => {
      writeFileSync(join(file, '../inside.json'), '{"remaining":["x"]}');
      symlinkSync('inside.json', file);
    },
    /symlink/,
  ],
];

for (const [what, plant, problem] of INVALID) {
  test(`${what} in place of PROGRESS.json is reported, and the next update keeps it aside`, async (t) => {
    const { read, update, file, files, root, base } = workspaceOf(t);
    plant(file, base);
    const planted = lstatSync(file);
    const told = await read();
    assert.equal(told.ok, false);
    assert.match(String(told.output), problem);
    assert.doesNotMatch(String(told.output), /top secret/);
    const found = await readProgress(files);
    assert.equal(found.kind, 'invalid');
    assert.equal(lstatSync(file).ino, planted.ino, 'reading changes nothing');
    const updated = await update({ remaining: ['y'] });
    assert.match(JSON.stringify(updated.output), /invalid.*kept as PROGRESS\.invalid-1\.json/);
    assert.equal(lstatSync(join(root, 'PROGRESS.invalid-1.json')).ino, planted.ino);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')).remaining, ['y']);
    assert.equal(existsSync(join(base, 'nowhere')), false);
  });
}

test('invalid files kept aside are not overwritten, and their number is limited', async (t) => {
  const { update, file, root } = workspaceOf(t);
  for (let n = 1; n <= 20; n += 1) {
    writeFileSync(file, `broken ${n}`);
    assert.equal((await update({ remaining: [] })).ok, true);
    assert.equal(readFileSync(join(root, `PROGRESS.invalid-${n}.json`), 'utf8'), `broken ${n}`);
  }
  writeFileSync(file, 'broken 21');
  const refused = await update({ remaining: [] });
  assert.match(String(refused.output), /remove PROGRESS\.invalid/);
  assert.equal(readFileSync(file, 'utf8'), 'broken 21');
});

test('leftovers of an interrupted update are removed', async (t) => {
  const { update, read, root, base } = workspaceOf(t);
  writeFileSync(join(root, '.PROGRESS.json.tmp'), 'half a fi');
  assert.equal((await update({ remaining: ['x'] })).ok, true);
  assert.deepEqual(readdirSync(root), ['PROGRESS.json']);
  symlinkSync(join(base, 'nowhere'), join(root, '.PROGRESS.json.tmp'));
  assert.equal((await update({ remaining: ['y'] })).ok, true);
  assert.match(JSON.stringify((await read()).output), /"remaining":\["y"\]/);
  assert.equal(existsSync(join(base, 'nowhere')), false);
});
