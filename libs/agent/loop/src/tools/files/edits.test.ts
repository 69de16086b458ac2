import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ToolError } from '@hermes-fleet/protocol/ports';
import fc from 'fast-check';
import { applyEdits, type Edit } from './edits.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const edit = (old_text: string, new_text: string, replace_all?: boolean): Edit => ({
  old_text,
  new_text,
  ...(replace_all === undefined ? {} : { replace_all }),
});
const edited = (before: Buffer | string, ...edits: Edit[]): Buffer =>
  applyEdits(Buffer.from(before), edits).content;
const toCrlf = (lf: string): string => lf.replaceAll('\n', '\r\n');
function problem(before: Buffer | string, ...edits: Edit[]): string {
  try {
    applyEdits(Buffer.from(before), edits);
  } catch (error) {
    assert.ok(error instanceof ToolError, String(error));
    return error.message;
  }
  return assert.fail('the edits were applied');
}

test('an edit changes no byte but its own, whatever the encoding of the rest', () => {
  const bytes = fc.uint8Array({ min: 1, max: 255, maxLength: 200 });
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', ' ', 'ä', '→', '\n'),
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(bytes, bytes, text, (head, tail, put) => {
      const before = Buffer.concat([head, Buffer.from('<mark>'), tail]);
      let after: Buffer;
      try {
        after = edited(before, edit('<mark>', put));
      } catch (error) {
        assert.ok(error instanceof ToolError);
        assert.match(error.message, /occurs|lacks characters/);
        return;
      }
      assert.deepEqual(after.subarray(0, head.length), Buffer.from(head));
      assert.deepEqual(after.subarray(after.length - tail.length), Buffer.from(tail));
    }),
  );
});

test('a file in Latin-1 is edited in Latin-1, with and without characters beyond ASCII', () => {
  const before = latin1('Straße 1\nGröße: 5\n');
  assert.deepEqual(edited(before, edit('1', '2')), latin1('Straße 2\nGröße: 5\n'));
  assert.deepEqual(edited(before, edit('Größe', 'Länge')), latin1('Straße 1\nLänge: 5\n'));
  assert.deepEqual(
    edited(before, edit('5', '5 €')),
    Buffer.concat([latin1('Straße 1\nGröße: 5 '), Buffer.of(0x80, 10)]),
  );
  assert.match(
    problem(before, edit('5', '→ 5 ✓')),
    /is in Windows-1252, which lacks characters of new_text: → ✓;/,
  );
  const mixed = Buffer.concat([Buffer.from('über\n'), latin1('über\n')]);
  assert.deepEqual(edited(mixed, edit('über', 'ä')), Buffer.concat([Buffer.from('ä\n'), latin1('über\n')]));
});

test('UTF-8 and its byte order mark stay', () => {
  assert.equal(edited('\uFEFFgrün → b\n', edit('grün', 'rötlich')).toString(), '\uFEFFrötlich → b\n');
  assert.equal(edited('\uFEFFa\n', edit('a\n', 'b\n')).toString(), '\uFEFFb\n');
});

test('line breaks match CRLF, and the new text gets the line ends of its place', () => {
  const crlf = 'one\r\ntwo\r\nthree\r\n';
  assert.equal(edited(crlf, edit('one\ntwo\n', '1\n2\n2b\n')).toString(), '1\r\n2\r\n2b\r\nthree\r\n');
  assert.equal(edited(crlf, edit('two', '2\n2b')).toString(), 'one\r\n2\r\n2b\r\nthree\r\n');
  assert.equal(edited(crlf, edit('two\r\n', '2\r\n')).toString(), 'one\r\n2\r\nthree\r\n');
  assert.equal(edited('a\r\nb', edit('b', 'c\nd')).toString(), 'a\r\nc\r\nd');
  const mixed = 'a.\nx\r\na.\r\nx\n';
  assert.equal(edited(mixed, edit('a.\nx', 'b\nc', true)).toString(), 'b\nc\r\nb\r\nc\n');
  assert.match(problem(mixed, edit('a.\nx', 'b\nc')), /^old_text occurs 2 times, at lines 1, 3;/);
  assert.equal(edited('a.\r\nx\n$1\n', edit('a.\nx', '$1\n$&')).toString(), '$1\r\n$&\n$1\n');
  assert.equal(edited('one\ntwo\n', edit('one', '1\r\n1b')).toString(), '1\n1b\ntwo\n');
  assert.equal(edited('one', edit('one', '1\r\n1b')).toString(), '1\r\n1b', 'no line end to follow');
});

test('an edit never parts the two characters of a CRLF', () => {
  const crlf = 'import a\r\nimport b\r\n';
  assert.equal(edited(crlf, edit('\nimport b', '\nimport c')).toString(), 'import a\r\nimport c\r\n');
  assert.equal(edited('a\r\nb\r\n', edit('\nb', '')).toString(), 'a\r\n');
  assert.equal(edited('a\r\nb\r\n', edit('\n', ' ', true)).toString(), 'a b ');
  assert.equal(edited('\r\na\nb', edit('\na\n', '\n')).toString(), '\r\nb');
  assert.equal(edited('a\r\r\nb', edit('\r\nb', '')).toString(), 'a\r', 'a lone return is no line end');
  assert.equal(edited('a\r\nb\r\n', edit('\r', '', true)).toString(), 'a\nb\n', 'asked for by itself');
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(text, { minLength: 1 }), text, text, (parts, old, put) => {
      const before = `\n${parts.join(old)}`;
      fc.pre(before.includes(old));
      const all = edit(old, put, true);
      const after = edited(before, all).toString();
      assert.equal(edited(toCrlf(before), all).toString(), toCrlf(after));
      assert.equal(edited(toCrlf(before), edit(toCrlf(old), toCrlf(put), true)).toString(), toCrlf(after));
    }),
  );
});

test('an edit of large texts takes bounded work and memory', () => {
  const lines = 'abcde\n'.repeat(15_000);
  assert.equal(edited(`${toCrlf(lines)}end`, edit(`${lines}end`, 'x')).toString(), 'x');
  assert.match(problem('q', edit(lines, '')), /does not occur/);
  assert.match(problem('hello\n', edit(`q${'\n'.repeat(400_000)}z`, 'x')), /does not occur/);
  assert.match(
    problem('a'.repeat(100_001), edit('a', 'b', true)),
    /^old_text occurs more than 100000 times;/,
  );
  assert.match(problem('a'.repeat(100_000), edit('a', 'b')), /^old_text occurs 100000 times/);
  assert.equal(edited('a'.repeat(100_000), edit('a', 'b\n', true)).length, 200_000);
  assert.match(
    problem('a'.repeat(100_000), edit('a', 'b'.repeat(100_000), true)),
    /^a file may have at most 8388608 bytes, and the edited one would have 10000000000$/,
  );
});

test('several edits apply in order, all or none', () => {
  assert.equal(edited('a b c', edit('a', 'b'), edit('b b', 'x'), edit('c', 'x')).toString(), 'x x');
  assert.equal(edited('a a b', edit('a', 'c', true), edit('b', 'd')).toString(), 'c c d');
  assert.match(problem('a b', edit('a', 'c'), edit('z', 'y')), /^edits\[1\], and with it all edits, was not/);
  assert.match(problem('a\nb\na\n', edit('a', 'c')), /^old_text occurs 2 times, at lines 1, 3; give more/);
  assert.match(problem('a\n'.repeat(9), edit('a', 'c')), /occurs 9 times, at lines 1, 2, 3, 4, 5, …;/);
});

test('a near miss shows the closest text with its lines', () => {
  const file = [
    'function add(a, b) {',
    '\tconst sum = a + b;',
    '\treturn sum;',
    '}',
    '',
    'function sub(a, b) {',
    '\treturn a - b;  ',
    '}',
    '',
  ].join('\n');
  assert.equal(
    problem(file, edit('  const sum = a + b;\n  return sum;', 'x')),
    'old_text does not occur in the file. The closest text is lines 2-3, which differs in white space only; copy it exactly:\n\tconst sum = a + b;\n\treturn sum;',
  );
  assert.match(
    problem(file, edit('return a - b;\n}', 'x')),
    /is lines 7-8, which differs in white space only/,
  );
  assert.match(
    problem(file, edit('function sub(a, b) {\n\treturn a-b;\n}', 'x')),
    /is lines 6-8; copy it exactly:\nfunction sub\(a, b\) \{\n\treturn a - b; {2}\n\}$/,
  );
  assert.match(
    problem(file, edit('const summe = a + b;', 'x')),
    /is line 2; copy it exactly:\n\tconst sum = a/,
  );
  assert.match(problem(file, edit('import { z } from "zod";', 'x')), /nor anything like it; read it again$/);
  assert.match(problem(latin1('Größe  = 5\n'), edit('Größe = 5', 'x')), /line 1, which .*\nGröße {2}= 5$/);
});

test('a near miss in a large file takes bounded work and shows little', () => {
  const lines = Array.from({ length: 200_000 }, (_, at) => `  value_${at % 1000} = compute(${at});`);
  const said = problem(lines.join('\n'), edit(lines.slice(10, 400).join('\n').replaceAll('  v', 'v'), 'x'));
  assert.match(said, /is lines 11-400, which differs in white space only/);
  assert.ok(said.length < 2000, String(said.length));
  assert.match(problem(lines.join('\n'), edit('value\n'.repeat(500_000), 'x')), /does not occur/);
  assert.match(problem('value\n'.repeat(500_000), edit('value\n'.repeat(500_001), 'x')), /lines 1-\d+/);
  assert.match(problem('x'.repeat(4_000_000), edit(`${'x'.repeat(400)}y`, 'z')), /does not occur/);
});
