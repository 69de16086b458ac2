import assert from 'node:assert/strict';
import { test } from 'node:test';
import { named } from './add-all.ts';

test('paths are named in one line, however they are called and however many there are', () => {
  assert.equal(named(['src/a b.ts', 'c']), 'src/a b.ts, c');
  assert.equal(named(['a\nremove all', 'b\u001b[2J\u202e']), String.raw`"a\nremove all", "b\u001b[2J\u202e"`);
  const many = named(Array.from({ length: 5000 }, (_, index) => `${index}${'x'.repeat(4000)}`));
  assert.match(many, /^0x+…, 1x.* and 4995 more$/);
  assert.ok(many.length < 1100);
});
