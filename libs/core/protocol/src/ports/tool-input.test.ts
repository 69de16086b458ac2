import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { toolParameters } from './tool.ts';
import { readToolInput } from './tool-input.ts';

const Input = z.strictObject({
  path: z.string(),
  limit: z.int().optional(),
  share: z.number().optional(),
  replace_all: z.boolean().optional(),
  names: z.array(z.string()).optional(),
  edits: z.array(z.strictObject({ old_text: z.string(), count: z.int().optional() })).optional(),
  nothing: z.string().nullable().optional(),
  free: z.record(z.string(), z.json()).optional(),
});
const schema = toolParameters(Input);
const synonyms = { file_path: 'path', file: 'path', old_string: 'old_text' };
const read = (raw: unknown) => readToolInput(raw, schema, synonyms);

test('what has one meaning is understood, and each difference is noted', () => {
  const cases: [given: unknown, input: unknown, note: RegExp][] = [
    [{ path: 'a', extra: 1 }, { path: 'a' }, /^unknown and ignored: extra$/],
    [{ path: 'a', limit: '1' }, { path: 'a', limit: 1 }, /^limit is read as 1, not as text$/],
    [{ path: 'a', share: ' -0.5 ' }, { path: 'a', share: -0.5 }, /^share is read as -0\.5/],
    [{ path: 'a', replace_all: 'True' }, { path: 'a', replace_all: true }, /read as true/],
    [{ path: 'a', replace_all: 'false' }, { path: 'a', replace_all: false }, /read as false/],
    [{ path: 'a', limit: null }, { path: 'a' }, /^limit: null is left out$/],
    [{ path: 'a', names: '["b"]' }, { path: 'a', names: ['b'] }, /^names is read as a list/],
    [{ path: 'a', free: '{"b":1}' }, { path: 'a', free: { b: 1 } }, /^free is read as an object/],
    ['{"path":"a"}', { path: 'a' }, /^the input is read as an object/],
    [{ file_path: 'a' }, { path: 'a' }, /^file_path is read as path$/],
    [{ filePath: 'a' }, { path: 'a' }, /^filePath is read as path$/],
    [
      { path: 'a', replaceAll: true },
      { path: 'a', replace_all: true },
      /^replaceAll is read as replace_all$/,
    ],
    [
      { path: 'a', edits: '[{"old_string":"b","count":"2","x":0}]' },
      { path: 'a', edits: [{ old_text: 'b', count: 2 }] },
      /^edits is read as a list.*edits\[0\]\.count is read as 2.*edits\[0\]\.old_string is read as edits\[0\]\.old_text.*ignored: edits\[0\]\.x$/,
    ],
  ];
  for (const [given, input, note] of cases) {
    const found = read(given);
    assert.deepEqual(found.input, input, JSON.stringify(given));
    assert.match(found.notes.join('; '), note);
    assert.ok(Input.safeParse(found.input).success);
  }
});

test('what was dropped is named, with its value', () => {
  const raw = '{"path":"a","dryRun":true,"edits":[{"old_text":"b","x-y":[1]}]}';
  assert.deepEqual(read(raw).dropped, [
    { key: 'edits[0].x-y', name: 'x_y', value: [1] },
    { key: 'dryRun', name: 'dry_run', value: true },
  ]);
  assert.equal(read({ path: 'a' }).dropped, undefined);
});

test('what fits, and what has no meaning, stays as it is', () => {
  const same: unknown[] = [
    { path: '1', limit: 2, nothing: null, free: { path: null, any: '1' } },
    { path: 'true', names: ['[1]'] },
    { path: 'a', limit: 'many' },
    { path: 'a', limit: '0x10' },
    { path: 'a', names: '[1' },
    { path: 'a', names: 'b' },
    [],
    7,
    'text',
  ];
  for (const given of same) assert.deepEqual(read(given), { input: given, notes: [] }, JSON.stringify(given));
  assert.deepEqual(read(undefined), { input: {}, notes: [] });
});

test('two values for one parameter are a problem, unless they are the same or one is null', () => {
  assert.match(
    read({ path: 'a', file_path: 'b' }).problem ?? '',
    /^path and file_path mean the same and differ; give path alone$/,
  );
  assert.match(read({ file: 'a', file_path: 'b' }).problem ?? '', /file and file_path mean the same/);
  assert.deepEqual(read({ file_path: 'a', path: 'a' }), { input: { path: 'a' }, notes: [] });
  assert.deepEqual(read({ file_path: 'a', path: null }).input, { path: 'a' });
});

test('names of the language are ordinary unknown keys, and notes are short', () => {
  const hostile = JSON.parse(`{"__proto__":{"limit":1},"constructor":1,"path":"a","${'k'.repeat(5000)}":1}`);
  const { input, notes } = read(hostile);
  assert.deepEqual(Object.keys(input ?? {}), ['path']);
  assert.equal(Object.getPrototypeOf(input), Object.prototype);
  assert.ok(notes.join().length < 500, notes.join());
});

test('an input that was understood is understood in the same way again, without notes', () => {
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('1', 'true', '[]', '{}', null));
  const keys = fc.constantFrom('path', 'file_path', 'limit', 'edits', 'names', 'nothing', 'free', 'x');
  fc.assert(
    fc.property(fc.dictionary(keys, value), (raw) => {
      const { input, problem } = read(raw);
      if (problem === undefined) assert.deepEqual(read(input), { input, notes: [] });
      else assert.deepEqual(input, raw);
    }),
  );
});
