import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutTo, shownName } from './shown-name.ts';

test('a name in a line of text is as it is, or quoted where it could break the line or hide something', () => {
  for (const [name, shown] of [
    ['src/a b.ts', 'src/a b.ts'],
    ['данные/表.csv', 'данные/表.csv'],
    ['a\nb', String.raw`"a\nb"`],
    ['a\u001b[2Jb', String.raw`"a\u001b[2Jb"`],
    ['a\u0085b\u009bc', String.raw`"a\u0085b\u009bc"`],
    ['a\u202eb\u2028c', String.raw`"a\u202eb\u2028c"`],
    ['a\ud83db', String.raw`"a\ud83db"`],
    ['a"b', String.raw`"a\"b"`],
    ['', '""'],
  ] as const)
    assert.equal(shownName(name, 100), shown);
  assert.equal(shownName('x'.repeat(101), 100), `${'x'.repeat(100)}…`);
});

test('a cut never splits a character', () => {
  assert.equal(cutTo('ab🙂c', 3), 'ab…');
  assert.equal(cutTo('ab🙂c', 4), 'ab🙂…');
  assert.equal(cutTo('ab🙂', 4), 'ab🙂');
  assert.equal(shownName('ab🙂c', 3), 'ab…');
});
