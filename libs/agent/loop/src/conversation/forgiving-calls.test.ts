import assert from 'node:assert/strict';
import { assertLike } from '../../testing/assert-like.ts';
import { reads, runCases, writes } from '../../testing/run-cases.ts';
import { type Delta, type Reply, say, use } from '../../testing/scripted-server.ts';
import { results } from '../../testing/watched-tools.ts';

/** A call whose arguments are this text, and not necessarily JSON. */
const rawCall = (name: string, text: string, finish = 'tool_calls'): Reply => {
  const call: Delta = { tool_calls: [{ index: 0, type: 'function', function: { name, arguments: text } }] };
  return { deltas: [call], finish };
};
const LONG = `{"path":"a.txt","content":"${'lorem ipsum '.repeat(4000)}`;

runCases([
  {
    name: 'calls by the names of other agents are carried out, under our names',
    script: [
      use([
        ['Write', { file_path: 'a.txt', content: 'one\ntwo\n', mode: 'w' }],
        ['str_replace', { path: 'a.txt', old_str: 'two', new_str: 'three', replace_all: 'false' }],
        ['bash', { cmd: 'cat a.txt', timeout_s: '20' }],
        ['Read', { filePath: 'a.txt', limit: '1', offset: null }],
      ]),
      say('Done.'),
    ],
    expect: { status: 'done', files: ['a.txt'], evidence: ['command cat a.txt', 'reread a.txt'] },
    check({ requests, context }) {
      const last = requests[1] ?? assert.fail();
      assertLike(results(last), [
        /the tool is write_file; file_path is read as path; unknown and ignored: mode/,
        /the tool is edit_file; .*old_str is read as old_text/,
        /three.*the tool is shell_exec; timeout_s is read as 20.*; cmd is read as command/,
        /"content":"one".*limit is read as 1.*offset: null is left out; filePath is read as path/,
      ]);
      const called = last.messages.flatMap(({ tool_calls: calls }) => JSON.stringify(calls ?? []));
      assert.match(called.join(), /"Write".*file_path/, 'the provider sees the calls that the model made');
      const started = context.events.flatMap((event) =>
        event.type === 'progress' && event.data.phase === 'started' ? [event.data.tool] : [],
      );
      assert.deepEqual(started, ['write_file', 'edit_file', 'shell_exec', 'read_file']);
    },
  },
  {
    name: 'calls by names with the marks of a chat template are carried out, and an unknown name is told the closest ones',
    script: [
      use([
        ['functions.write_file<|channel|>commentary', { path: 'a.txt', content: 'x' }],
        ['rite_a_file', { path: 'b.txt', content: 'x' }],
        ['functions.read_file:2', { path: 'a.txt' }],
      ]),
      say('Done.'),
    ],
    expect: { files: ['a.txt'], evidence: ['reread a.txt'] },
    check({ requests }) {
      assertLike(results(requests[1] ?? assert.fail()), [
        /^there is no tool rite_a_file; the closest are write_file, \w+, \w+$/,
        /the tool is write_file/,
        /the tool is read_file/,
      ]);
    },
  },
  {
    name: 'a call with two meanings is refused, and changes nothing',
    script: [
      use([['write_file', { path: 'a.txt', file_path: 'b.txt', content: 'x' }]]),
      say('No.\n\n```outcome\n{"status":"partial","remaining":["all"]}\n```'),
    ],
    expect: { files: [] },
    asks: { 2: /path and file_path mean the same and differ/ },
  },
  {
    name: 'a call that the output limit cut is told so, and does not stay in the conversation',
    script: [
      rawCall('write_file', LONG, 'length'),
      rawCall('Write', LONG, 'length'),
      rawCall('write_file', LONG),
      writes('a.txt', 'short'),
      reads('a.txt'),
      say('Done.'),
    ],
    config: { limits: { max_output_tokens: 20_000 } },
    expect: { status: 'done' },
    check({ requests }) {
      const told = results(requests[3] ?? assert.fail());
      const cut = /^not run: the call was cut at the output limit of 20000 tokens.*in parts/;
      assertLike(told, [cut, cut, /^not run: the input is not valid JSON/]);
      for (const text of [told[0], told[2]])
        assert.match(text ?? '', /It began: \{"path":"a\.txt","content":"lorem/);
      for (const text of told) assert.ok(text.length < 1000, String(text.length));
      for (const { messages } of requests) assert.ok(JSON.stringify(messages).length < 20_000);
    },
  },
  {
    name: 'a call by another name that was cut is not carried out with an empty input',
    script: [rawCall('LS', '{"path":"su', 'length'), say('Looked.')],
    expect: { guards: [] },
    asks: { 2: /^not run: the call was cut/ },
  },
  {
    name: 'an input that is a text with an object in it is that object',
    script: [writes('a.txt'), rawCall('read_file', JSON.stringify('{"path":"a.txt"}')), say('Done.')],
    expect: { status: 'done' },
    asks: { 3: /"content":"x".*the input is read as an obj/ },
  },
]);
