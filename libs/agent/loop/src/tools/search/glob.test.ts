import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseGlob } from './glob.ts';

const MATCHES: readonly (readonly [pattern: string, path: string, matches: boolean])[] = [
  ['*.ts', 'a.ts', true],
  ['*.ts', 'deep/er/a.ts', true],
  ['*.ts', 'a.tsx', false],
  ['./*.ts', 'a.ts', true],
  ['./*.ts', 'deep/a.ts', false],
  ['src/*.ts', 'src/a.ts', true],
  ['src/*.ts', 'src/deep/a.ts', false],
  ['src/**/*.ts', 'src/a.ts', true],
  ['src/**/*.ts', 'src/deep/er/a.ts', true],
  ['src/**', 'src/deep/er/a.ts', true],
  ['**/test/**/*.json', 'a/test/b/c.json', true],
  ['**/test/**/*.json', 'a/tests/b/c.json', false],
  ['src/**/a/**/b', 'src/x/a/y/a/b', true],
  ['*.{ts,js}', 'a.js', true],
  ['*.{ts,js}', 'a.css', false],
  ['{src,test}/**/*.{ts,js}', 'test/a.js', true],
  ['{a,b{c,d}}', 'bd', true],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['a?c', 'a/c', false],
  ['[a-c]x', 'bx', true],
  ['[!a-c]x', 'bx', false],
  ['[^a-c]x', 'dx', true],
  ['[]x]', ']', true],
  ['[x', '[x', true],
  ['a.c', 'abc', false],
  ['(a|b)+', '(a|b)+', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['ü*', 'über', true],
  ['?', '😀', true],
  ['*', '', true],
  ['.env*', 'sub/.env.local', true],
];

for (const [pattern, path, matches] of MATCHES) {
  test(`${pattern} ${matches ? 'matches' : 'does not match'} ${JSON.stringify(path)}`, () => {
    assert.equal(parseGlob(pattern)(path), matches);
  });
}

test('a pattern matches the same paths as the equivalent regular expression', () => {
  const names = fc.array(fc.string({ unit: fc.constantFrom(...'ab.'), minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 5,
  });
  const pattern = fc.string({ unit: fc.constantFrom(...'ab.*?/'), minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(names, pattern, (path, glob) => {
      const names = glob.split('/').filter((name) => name !== '' && name !== '.');
      fc.pre(
        glob.includes('/') &&
          names.length > 0 &&
          !names.some((name) => /\*\*./.test(name) || /.\*\*/.test(name)),
      );
      fc.pre(!path.includes('.') && !path.includes('..'));
      const expression = names.map((name) =>
        name === '**'
          ? '(?:[^/]+/)*'
          : `${name.replaceAll('.', '\\.').replaceAll('?', '[^/]').replaceAll('*', '[^/]*')}/`,
      );
      assert.equal(
        parseGlob(glob)(path.join('/')),
        new RegExp(`^${expression.join('')}$`).test(`${path.join('/')}/`),
      );
    }),
  );
});

test('hostile patterns match quickly, and brace expansion is limited', () => {
  const started = performance.now();
  assert.equal(parseGlob(`${'*a'.repeat(400)}b`)('a'.repeat(4000)), false);
  assert.equal(parseGlob(`${'**/a/'.repeat(150)}b`)('a/'.repeat(1500)), false);
  assert.throws(() => parseGlob('{a,b}'.repeat(200)), /more than 64/);
  assert.throws(() => parseGlob('{a'), /without its }/);
  assert.ok(performance.now() - started < 5000);
});
