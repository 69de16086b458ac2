import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { placeFiles } from './place-files.ts';

const ID = '0199a000-0000-7000-8000-0000a1b2c3d4';
const FOLDER = 'inbox/a1b2c3d4';

const file = (name: string, text: string) => ({ name, mediaType: 'text/plain', bytes: Buffer.from(text) });

function tree(t: TestContext) {
  const root = tempDir(t);
  const files = anchoredFiles(root, false);
  return {
    root,
    place: async (...sent: ReturnType<typeof file>[]) =>
      (await placeFiles(files, ID, sent)).map(({ path }) => path),
    read: (path: string) => readFileSync(join(root, path), 'utf8'),
    list: (path: string) => readdirSync(join(root, path)).sort(),
  };
}

describe('the files of a task in its workspace', () => {
  it('are in a folder of the task, which git leaves alone', async (t) => {
    const { place, read, list } = tree(t);
    assert.deepEqual(await place(file('a.txt', 'one'), file('b.txt', '')), [
      `${FOLDER}/a.txt`,
      `${FOLDER}/b.txt`,
    ]);
    assert.deepEqual([read(`${FOLDER}/a.txt`), read(`${FOLDER}/b.txt`)], ['one', '']);
    assert.equal(read(`${FOLDER}/.gitignore`), '*\n');
    assert.deepEqual(list(FOLDER), ['.gitignore', 'a.txt', 'b.txt']);
  });

  it('have numbers when they have the same name, also with the same content', async (t) => {
    const { place, read } = tree(t);
    const placed = await place(file('a.txt', 'one'), file('a.txt', 'two'), file('a.txt', 'one'));
    assert.deepEqual(placed, [`${FOLDER}/a.txt`, `${FOLDER}/a-2.txt`, `${FOLDER}/a-3.txt`]);
    assert.deepEqual(placed.map(read), ['one', 'two', 'one']);
  });

  it('are not written again by a run that begins again after a crash', async (t) => {
    const { place, list } = tree(t);
    const sent = [file('a.txt', 'one'), file('a.txt', 'two'), file('a.txt', 'one')];
    const first = await place(...sent);
    assert.deepEqual(await place(...sent), first);
    assert.equal(list(FOLDER).length, 4);
  });

  it('replace nothing, and follow no symlink', async (t) => {
    const { root, place, read } = tree(t);
    const secret = join(root, 'secret');
    writeFileSync(secret, 'one');
    mkdirSync(join(root, FOLDER, 'd.txt'), { recursive: true });
    writeFileSync(join(root, FOLDER, 'a.txt'), 'mine');
    symlinkSync(secret, join(root, FOLDER, 'b.txt'));
    symlinkSync(join(root, 'nowhere'), join(root, FOLDER, 'c.txt'));
    const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt'];
    const placed = await place(...names.map((name) => file(name, 'one')));
    assert.deepEqual(
      placed,
      names.map((name) => `${FOLDER}/${name.replace('.', '-2.')}`),
    );
    assert.deepEqual([read(`${FOLDER}/a.txt`), read('secret')], ['mine', 'one']);
    assert.ok(!readdirSync(root).includes('nowhere'));
  });

  for (const [what, plant] of [
    ['a symlink out of the workspace', (root: string) => symlinkSync('/tmp', join(root, 'inbox'))],
    ['a symlink within it', (root: string) => symlinkSync('.', join(root, 'inbox'))],
    ['a file', (root: string) => writeFileSync(join(root, 'inbox'), 'x')],
  ] as const)
    it(`are refused when ${what} is in the place of the folder`, async (t) => {
      const { root, place } = tree(t);
      plant(root);
      const before = readdirSync(root);
      await assert.rejects(
        place(file('a.txt', 'one')),
        /^ToolError: inbox\/a1b2c3d4 in the workspace is not a folder/,
      );
      assert.deepEqual(readdirSync(root), before);
    });
});
