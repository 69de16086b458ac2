import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameInClaude, nativeCall, nativeFailure, nativeResult, replacedResponse } from './native-tools.ts';

/** Calls in the form of Claude Code's hooks (release 0.3.330), and their form in the journal. */
const CALLS = [
  {
    name: 'Read',
    input: { file_path: '/w/a.txt', offset: 3 },
    response: { type: 'text', file: { filePath: '/w/a.txt', content: 'A', numLines: 1 } },
    call: { tool: 'read_file', mutates: false, path: '/w/a.txt' },
    result: { ok: true, output: 'A', detail: 'a.txt' },
  },
  {
    name: 'Write',
    input: { file_path: '/w/a.txt', content: 'A' },
    response: { type: 'create', filePath: 'a.txt', content: 'A', structuredPatch: [] },
    call: { tool: 'write_file', mutates: true, path: '/w/a.txt' },
    result: { ok: true, output: '', detail: 'a.txt' },
  },
  {
    name: 'Edit',
    input: { file_path: '/w/a.txt', old_string: 'A', new_string: 'B' },
    response: { filePath: 'a.txt' },
    call: { tool: 'edit_file', mutates: true, path: '/w/a.txt' },
    result: { ok: true, output: '', detail: 'a.txt' },
  },
  {
    name: 'Grep',
    input: { pattern: 'A+', path: '/w/a.txt', output_mode: 'content' },
    response: { mode: 'content', numFiles: 0, filenames: [], content: 'a.txt:1:A' },
    call: { tool: 'grep_files', mutates: false, path: '/w/a.txt' },
    result: { ok: true, output: 'a.txt:1:A', detail: 'A+ in a.txt' },
  },
  {
    name: 'Glob',
    input: { pattern: '*.txt' },
    response: { filenames: ['a.txt', 'b.txt'], numFiles: 2 },
    call: { tool: 'find_files', mutates: false, path: '.' },
    result: { ok: true, output: 'a.txt\nb.txt', detail: '*.txt in .' },
  },
];

for (const { name, input, response, call, result } of CALLS) {
  test(`${name} is ${call.tool} to the guards`, () => {
    const read = nativeCall(name, input) ?? assert.fail();
    assert.deepEqual({ tool: read.tool, mutates: read.mutates, path: read.path }, call);
    const path = call.path.replace(/^\/w\//, '');
    assert.deepEqual(nativeResult(read, path, response), result);
    const { detail } = result;
    assert.deepEqual(nativeFailure(read, path, 'no'), { ok: false, output: 'no', detail });
    assert.equal(nameInClaude(call.tool), name);
  });
}

test('any other tool is not native and keeps its name', () => {
  for (const name of ['Bash', 'WebFetch', 'shell_exec', 'toString', ''])
    assert.equal(nativeCall(name, {}), undefined);
  assert.equal(nativeCall('Read', 'text'), undefined);
  assert.equal(nameInClaude('shell_exec'), 'shell_exec');
});

test('only the response of a search is replaced, in its own form', () => {
  const grep = nativeCall('Grep', { pattern: 'A' }) ?? assert.fail();
  const response = { mode: 'content', numLines: 900, content: 'many' };
  assert.deepEqual(replacedResponse(grep, response, 'few'), {
    mode: 'content',
    numLines: 900,
    content: 'few',
  });
  assert.equal(replacedResponse(nativeCall('Read', {}) ?? assert.fail(), response, 'few'), undefined);
  assert.equal(replacedResponse(grep, 'no shape', 'few'), undefined);
});
