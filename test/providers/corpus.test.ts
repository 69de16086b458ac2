import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { topics } from './play.ts';
import { refusalOf } from './strict-provider.ts';
import { readTranscript } from './transcript.ts';

it('each topic of the corpus has a test file that plays it', () => {
  assert.ok(topics().length > 0);
  for (const topic of topics()) assert.ok(existsSync(join(import.meta.dirname, `${topic}.test.ts`)), topic);
});

it('an error in a transcript names its file and line', (t) => {
  const file = join(tempDir(t), 'bad.txt');
  const HEAD = 'what: x\nends: done\nbooked: nothing\n';
  const ROWS: readonly (readonly [text: string, line: number, error: RegExp])[] = [
    ['what: x\nend: done\n\n--- end\n', 2, /`end` is no key/],
    [`${HEAD}what: y\n\n--- end\n`, 4, /twice/],
    [`${HEAD}says: done\n\n--- end\n`, 1, /`done` is no \/pattern\//],
    [`${HEAD}request 2: /x/\n\n--- end\n`, 4, /with/],
    ['what: x\nends: done\nbooked: many\n\n--- end\n', 1, /says no tokens/],
    ['what: x\nends: done\n\n--- end\n', 1, /`booked` is missing/],
    [`${HEAD}\n--- write\n--- 20 | text/plain\nx\n`, 6, /`20` is neither/],
    [`${HEAD}\n--- 200 | text/plain\nx\n\n--- 200 | text/plain | slowly\nx\n`, 8, /`slowly` is no option/],
    ['what: x\n\n--- end\n', 1, /none of done/],
    [HEAD, 1, /no answer/],
  ];
  for (const [text, line, error] of ROWS) {
    writeFileSync(file, text);
    assert.throws(() => readTranscript(file), { message: new RegExp(`^${file}:${line}: .*${error.source}`) });
  }
});

it('the server of the corpus refuses what the strictest providers refuse', () => {
  const call = (id: string, name = 'f') => ({ id, function: { name, arguments: '{}' } });
  const asks = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls });
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' });
  const tool = (parameters: object) => ({ function: { name: 'f', parameters } });
  const OBJECT = { type: 'object', properties: {} };
  const ROWS: readonly (readonly [what: RegExp | undefined, body: object])[] = [
    [undefined, { messages: [asks(call('a1')), result('a1')], tools: [tool(OBJECT)] }],
    [undefined, { messages: [], tools: [tool({ ...OBJECT, properties: { pattern: { type: 'string' } } })] }],
    [/the id a_1 is odd/, { messages: [asks(call('a_1')), result('a_1')] }],
    [/the id a1 is odd, or is there twice/, { messages: [asks(call('a1')), result('a1'), asks(call('a1'))] }],
    [/have no result/, { messages: [asks(call('a1')), { role: 'user', content: 'x' }] }],
    [/answers no call/, { messages: [result('a1')] }],
    [/it is empty/, { messages: [{ role: 'assistant', content: '' }] }],
    [/the name f\.g/, { messages: [asks(call('a1', 'f.g'))] }],
    [/no JSON object/, { messages: [asks({ id: 'a1', function: { name: 'f', arguments: '{' } })] }],
    [/no plain object/, { messages: [], tools: [tool({ anyOf: [OBJECT] })] }],
    [
      /has maxLength/,
      { messages: [], tools: [tool({ ...OBJECT, properties: { a: { items: { maxLength: 1 } } } })] },
    ],
    [/has \$ref/, { messages: [], tools: [tool({ ...OBJECT, properties: { a: { $ref: '#/x' } } })] }],
  ];
  for (const [what, body] of ROWS) {
    const refusal = refusalOf('chat', { stream: true, ...body });
    if (what === undefined) assert.equal(refusal, undefined);
    else assert.match(refusal ?? '', what);
  }
  const long = { ...OBJECT, properties: { a: { maxLength: 1 } } };
  const [named, declared] = [
    { name: 'f', parameters: long },
    { name: 'f', parametersJsonSchema: long },
  ];
  assert.match(refusalOf('responses', { stream: true, tools: [named] }) ?? '', /has maxLength/);
  assert.match(refusalOf('google', { tools: [{ functionDeclarations: [declared] }] }) ?? '', /has maxLength/);
});
