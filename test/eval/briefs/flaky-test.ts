import { calls, read, type Script, says, sh, write } from '../script/script.ts';

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBatch } from '../src/batch.mjs';

test('entries arrive together', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const flushed = [];
  const batch = createBatch((entries) => flushed.push(entries), 20);
  batch.add('a');
  t.mock.timers.tick(19);
  batch.add('b');
  assert.deepEqual(flushed, []);
  t.mock.timers.tick(1);
  assert.deepEqual(flushed, [['a', 'b']]);
});

test('a new batch begins after the old one', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const flushed = [];
  const batch = createBatch((entries) => flushed.push(entries), 5);
  batch.add('a');
  t.mock.timers.tick(5);
  batch.add('b');
  t.mock.timers.tick(5);
  assert.deepEqual(flushed, [['a'], ['b']]);
});
`;
const RUNS = 'for i in 1 2 3 4 5 6 7 8; do node --test test/batch.test.mjs >/dev/null || echo red; done';

export const script: Script = {
  turns: [
    [
      calls(read('src/batch.mjs'), read('test/batch.test.mjs'), sh(RUNS)),
      calls(write('test/batch.test.mjs', TEST)),
      calls(sh('node --test test/batch.test.mjs')),
      calls(sh('for i in 1 2 3 4 5; do node --test test/batch.test.mjs || exit 1; done')),
      says('Both tests use a clock of their own now, so the time that passes no longer matters.'),
    ],
  ],
};
