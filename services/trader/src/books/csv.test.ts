import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csv } from './csv.ts';

test('fields are quoted where CSV needs it, and absent ones are empty', () => {
  const rows = [{ a: 'x,y', b: 'say "hi"', c: 'two\r\nlines', d: null }];
  assert.equal(csv(['a', 'b', 'c', 'd', 'e'], rows), 'a,b,c,d,e\r\n"x,y","say ""hi""","two\r\nlines",,\r\n');
});

test('a text of a caller is no formula in a spreadsheet, and a negative number stays one', () => {
  const texts = ['=HYPERLINK("x")', '+1+1', '-2+3', '@SUM(A1)', '-0.25', '-12', 'dec-1=2', '2026'];
  const rows = texts.map((t) => ({ t }));
  assert.deepEqual(csv(['t'], rows).split('\r\n').slice(1, -1), [
    `"'=HYPERLINK(""x"")"`,
    ...["'+1+1", "'-2+3", "'@SUM(A1)", '-0.25', '-12', 'dec-1=2', '2026'],
  ]);
});
