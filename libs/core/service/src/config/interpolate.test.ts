import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interpolate } from './interpolate.ts';

const values: Readonly<Record<string, string>> = { HOST: 'neo', PORT: '9220', _x1: 'y' };
const read = (name: string) => (name === 'BAD' ? { problem: 'BAD is unreadable' } : { value: values[name] });
const notPlaceholder = `"\${" does not start a placeholder; write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`;

const table: readonly (readonly [string, string, readonly string[], boolean])[] = [
  ['nothing', 'nothing', [], false],
  [`\${HOST}`, 'neo', ['HOST'], true],
  [`http://\${HOST}:\${PORT}/x`, 'http://neo:9220/x', ['HOST', 'PORT'], false],
  [`\${HOST:-other}`, 'neo', ['HOST'], true],
  [`\${NONE:-other}`, 'other', [], true],
  [`\${NONE:-}`, '', [], true],
  [`\${NONE:-http://a:1/?b=$c}`, 'http://a:1/?b=$c', [], true],
  [`\${_x1}`, 'y', ['_x1'], true],
  [`$\${HOST}`, `\${HOST}`, [], false],
  ['$HOST {HOST} $', '$HOST {HOST} $', [], false],
];

test('a placeholder becomes the value of its variable or its default', () => {
  for (const [text, result, names, sole] of table) {
    assert.deepEqual(interpolate(text, read), { text: result, names, sole, problems: [] }, text);
  }
});

test('each variable without a value or a default is a problem', () => {
  assert.deepEqual(interpolate(`\${A}/\${B}/\${BAD}`, read).problems, [
    `the variable A is not set; set it, or give a default: \${A:-value}`,
    `the variable B is not set; set it, or give a default: \${B:-value}`,
    'BAD is unreadable',
  ]);
});

test('a malformed placeholder is a problem', () => {
  for (const text of [`\${`, `\${HOST`, `\${}`, `\${1A}`, `\${HOST:default}`, `\${HOST-x}`, `\${ HOST }`]) {
    assert.deepEqual(interpolate(text, read).problems, [notPlaceholder], text);
  }
  assert.deepEqual(interpolate(`\${A:-\${HOST}}`, read).problems, [notPlaceholder]);
});
