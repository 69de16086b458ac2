import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { addPacks, releaseKeptPacks } from './kept-packs.ts';

function setUp(t: TestContext) {
  const dir = tempDir(t);
  const [objects, from] = [join(dir, 'objects'), join(dir, 'from')];
  const packs = join(objects, 'pack');
  for (const folder of [packs, from]) mkdirSync(folder, { recursive: true });
  return {
    objects,
    from,
    /** The ends of the names in the store. */
    ends: (): string[] =>
      readdirSync(packs)
        .map((name) => name.slice(name.indexOf('.')))
        .sort(),
    write: (name: string, text = '') => writeFileSync(join(packs, name), text),
    keepText: () => {
      const [keep = assert.fail()] = readdirSync(packs).filter((name) => name.endsWith('.keep'));
      return readFileSync(join(packs, keep), 'utf8');
    },
  };
}

test('a pack whose index a crash kept from the store is removed, and a complete one stays', async (t) => {
  const { objects, from, ends, write, keepText } = setUp(t);
  for (const end of ['pack', 'rev', 'idx']) writeFileSync(join(from, `pack-a.${end}`), '');
  // The process ends here, without a release.
  await addPacks(from, { objects });
  const ours = keepText();
  for (const end of ['pack', 'rev']) write(`pack-half.${end}`);
  write('pack-half.keep', ours);
  write('pack-begun.keep', ours);
  write('pack-theirs.pack');
  write('pack-theirs.keep', 'until the push is done');
  await releaseKeptPacks({ objects });
  assert.deepEqual(ends(), ['.idx', '.keep', '.pack', '.pack', '.rev']);
});

test('a pack that was added without its index leaves nothing', async (t) => {
  const { objects, from, ends } = setUp(t);
  for (const end of ['pack', 'rev']) writeFileSync(join(from, `pack-a.${end}`), '');
  const added = await addPacks(from, { objects });
  assert.deepEqual(ends(), ['.keep', '.pack', '.rev']);
  await added[Symbol.asyncDispose]();
  assert.deepEqual(ends(), []);
});
