import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEYS } from '../support/config-docs.ts';
import { generatedDocs } from '../support/generated-docs.ts';

test('every key of a configuration file has a description at its schema', () => {
  const bare = Object.values(KEYS)
    .flat()
    .filter(({ meaning }) => !meaning);
  assert.deepEqual(
    bare.map(({ path }) => path),
    [],
  );
});

test('the generated parts of the documents are as the code has them', () => {
  for (const { file, text, expected } of generatedDocs()) {
    const [written, wanted] = [text.split('\n'), expected.split('\n')];
    const stale = {
      missing: wanted.filter((line) => !written.includes(line)),
      outdated: written.filter((line) => !wanted.includes(line)),
    };
    assert.deepEqual(stale, { missing: [], outdated: [] }, `${file} is stale; run: make docs`);
    assert.equal(text, expected, `${file} is stale; run: make docs`);
  }
});
