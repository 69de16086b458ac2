import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scriptedAgent } from '../testing/scripted-run.ts';
import { type ChatRequest, type Delta, type Reply, say, use } from '../testing/scripted-server.ts';

/** The tool results in a request. */
const results = ({ messages }: ChatRequest): string[] =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));

/** A call whose arguments are this text, and not necessarily JSON. */
const rawCall = (name: string, text: string): Delta => ({
  tool_calls: [{ index: 0, type: 'function', function: { name, arguments: text } }],
});

test('calls by the names of other agents are carried out, under our names', async (t) => {
  const script: Reply[] = [
    use([
      ['Write', { file_path: 'a.txt', content: 'one\ntwo\n', mode: 'w' }],
      ['str_replace', { path: 'a.txt', old_str: 'two', new_str: 'three', replace_all: 'false' }],
      ['bash', { cmd: 'cat a.txt', timeout_s: '20' }],
      ['Read', { filePath: 'a.txt', limit: '1', offset: null }],
    ]),
    say('Done.'),
  ];
  const run = await scriptedAgent(t, (turn) => script[turn - 1] ?? assert.fail());
  const { result, requests, context } = await run({ contextId: 'names', brief: 'Write.' });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
  assert.deepEqual(
    result.evidence?.map(({ kind, detail }) => [kind, detail]),
    [
      ['command', 'cat a.txt'],
      ['reread', 'a.txt'],
    ],
  );
  const [, last] = requests;
  assert.ok(last);
  const [wrote, edited, ran, read] = results(last);
  assert.match(wrote ?? '', /the tool is write_file; file_path is read as path; unknown and ignored: mode/);
  assert.match(edited ?? '', /the tool is edit_file; .*old_str is read as old_text/);
  assert.match(ran ?? '', /three.*the tool is shell_exec; timeout_s is read as 20.*; cmd is read as command/);
  assert.match(
    read ?? '',
    /"content":"one".*limit is read as 1.*offset: null is left out; filePath is read as path/,
  );
  const called = last.messages.flatMap(({ tool_calls: calls }) => JSON.stringify(calls ?? []));
  assert.match(called.join(), /"Write".*file_path/, 'the provider sees the calls that the model made');
  const started = context.events.flatMap(({ type, ...event }) =>
    type === 'progress' && 'data' in event && event.data.phase === 'started' ? [event.data.tool] : [],
  );
  assert.deepEqual(started, ['write_file', 'edit_file', 'shell_exec', 'read_file']);
});

test('a call with two meanings is refused, and changes nothing', async (t) => {
  const script: Reply[] = [
    use([['write_file', { path: 'a.txt', file_path: 'b.txt', content: 'x' }]]),
    say('No.\n\n```outcome\n{"status":"partial","remaining":["all"]}\n```'),
  ];
  const run = await scriptedAgent(t, (turn) => script[turn - 1] ?? assert.fail());
  const { result, requests } = await run();
  assert.deepEqual(result.artifacts.filesChanged, []);
  assert.match(
    results(requests.at(-1) ?? assert.fail()).join(),
    /path and file_path mean the same and differ/,
  );
});

test('a call that the output limit cut is told so, and does not stay in the conversation', async (t) => {
  const long = 'lorem ipsum '.repeat(4000);
  const script: Reply[] = [
    { deltas: [rawCall('write_file', `{"path":"a.txt","content":"${long}`)], finish: 'length' },
    { deltas: [rawCall('Write', `{"path":"a.txt","content":"${long}`)], finish: 'length' },
    { deltas: [rawCall('write_file', `{"path":"a.txt","content":"${long}`)], finish: 'tool_calls' },
    use([['write_file', { path: 'a.txt', content: 'short' }]]),
    use([['read_file', { path: 'a.txt' }]]),
    say('Done.'),
  ];
  const run = await scriptedAgent(t, (turn) => script[turn - 1] ?? assert.fail(), {
    limits: { max_output_tokens: 20_000 },
  });
  const { result, requests } = await run({ contextId: 'cut' });
  assert.equal(result.status, 'done', JSON.stringify(result));
  const told = results(requests[3] ?? assert.fail());
  assert.equal(told.length, 3);
  for (const text of told.slice(0, 2))
    assert.match(text, /^not run: the call was cut at the output limit of 20000 tokens.*in parts/);
  assert.match(told[2] ?? '', /^not run: the input is not valid JSON/);
  for (const text of [told[0], told[2]])
    assert.match(text ?? '', /It began: \{"path":"a\.txt","content":"lorem/);
  for (const text of told) assert.ok(text.length < 1000, String(text.length));
  for (const { messages } of requests) assert.ok(JSON.stringify(messages).length < 20_000);
});

test('a call by another name that was cut is not carried out with an empty input', async (t) => {
  const script: Reply[] = [{ deltas: [rawCall('LS', '{"path":"su')], finish: 'length' }, say('Looked.')];
  const run = await scriptedAgent(t, (turn) => script[turn - 1] ?? assert.fail());
  const { requests, guards } = await run();
  assert.match(results(requests.at(-1) ?? assert.fail()).join(), /^not run: the call was cut/);
  assert.deepEqual(guards, []);
});

test('an input that is a text with an object in it is that object', async (t) => {
  const text = JSON.stringify('{"path":"a.txt"}');
  const script: Reply[] = [
    use([['write_file', { path: 'a.txt', content: 'x' }]]),
    { deltas: [rawCall('read_file', text)], finish: 'tool_calls' },
    say('Done.'),
  ];
  const run = await scriptedAgent(t, (turn) => script[turn - 1] ?? assert.fail());
  const { result, requests } = await run();
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.match(
    results(requests.at(-1) ?? assert.fail())[1] ?? '',
    /"content":"x".*the input is read as an obj/,
  );
});
