import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { makeAgent, makeContext, makeTask, type TestRun } from '../../testing/harness.ts';
import { objects, type Step, sse } from '../../testing/native/dialect.ts';
import { openrouter } from '../../testing/native/openrouter.ts';
import { restartableServer } from '../../testing/restartable-server.ts';

const env = { read: (name: string) => (name === 'MODEL_KEY' ? 'key-1' : undefined) };
const CALL: Omit<Step, 'turn'> = {
  thinking: 'I think.',
  call: { name: 'write_file', args: { path: 'notes.md', content: '# Notes\n' } },
};
const END: Omit<Step, 'turn'> = { thinking: 'I think.', text: 'I am done.' };
const say = (turn: number, step: Omit<Step, 'turn'>): string => openrouter.answer({ turn, ...step });

/** Answers each request by its number, counted from 1. */
async function scripted(
  t: TestContext,
  answer: (turn: number) => string,
  more: Partial<typeof openrouter.config> = {},
) {
  const bodies: JsonObject[] = [];
  const { url } = await restartableServer(t, async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = parseJson(text);
    bodies.push(isJsonObject(body) ? body : assert.fail('no object'));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer(bodies.length));
  });
  const config = { ...openrouter.config, base_url: url + openrouter.base, ...more };
  const agent = await makeAgent(t, config, { env, clock: { ...systemClock, sleep: async () => {} } });
  const run = () => agent.executor.run(makeTask('Write notes.md.'), makeContext());
  return { bodies, agent, run };
}

const lastResult = (body: JsonObject | undefined): string =>
  String(objects(body?.messages).findLast(({ role }) => role === 'tool')?.content);

it('keeps what a model thought over a restart', async (t) => {
  const { bodies, agent } = await scripted(t, (turn) => say(turn, turn === 1 ? CALL : END));
  const task = makeTask('Write notes.md.');
  const stopped: TestRun = makeContext({ onSave: () => bodies.length === 1 && stopped.pausing.abort() });
  await assert.rejects(agent.executor.run(task, stopped));
  const saved = stopped.checkpoints.at(-1) ?? assert.fail();
  const resumed = makeContext({ checkpoint: JSON.parse(JSON.stringify(saved)) });
  const result = await agent.executor.run({ ...task, resumes: 1 }, resumed);
  assert.equal(result.text, 'I am done.', JSON.stringify(result));
  assert.deepEqual(openrouter.returned(bodies.at(-1) ?? {}), [
    { type: 'reasoning.text', text: 'I think.', format: 'google-gemini-v1', index: 0, signature: 'signed-1' },
  ]);
});

it('is sent the effort and the extra body of config.yaml, and asked for usage', async (t) => {
  const more = { effort: 'max' as const, extra_body: { provider: { order: ['google-vertex'] } } };
  const { bodies, run } = await scripted(t, (turn) => say(turn, END), more);
  assert.equal((await run()).status, 'done');
  const [{ reasoning_effort: effort, provider, stream_options: options } = {}] = bodies;
  assert.deepEqual(
    [effort, provider, options],
    ['max', { order: ['google-vertex'] }, { include_usage: true }],
  );
});

/** An answer that ends in a call with these arguments, and perhaps without a finish reason. */
const calling = (pieces: readonly string[], finish?: string): string => {
  const call = (piece: string, at: number) =>
    at === 0
      ? { index: 0, id: 'call00001', type: 'function', function: { name: 'list_files', arguments: piece } }
      : { index: 0, function: { arguments: piece } };
  const deltas = pieces.map((piece, at) => ({ delta: { tool_calls: [call(piece, at)] }, index: 0 }));
  const ends = finish === undefined ? [] : [{ delta: {}, index: 0, finish_reason: finish }];
  return sse([...deltas, ...ends].map((choice) => ({ id: '1', choices: [choice] })));
};

for (const [what, pieces] of [
  ['are no JSON', ['{"path": ', '"a']],
  ['go on after an object', ['{}', '{"path": "a"}']],
] as const)
  it(`a call whose arguments ${what} is not carried out with others`, async (t) => {
    const { bodies, run } = await scripted(t, (turn) =>
      turn === 1 ? calling(pieces, 'tool_calls') : say(turn, END),
    );
    assert.equal((await run()).text, 'I am done.');
    assert.doesNotMatch(lastResult(bodies[1]), /"entries"/, 'not a list of the whole folder');
  });

it('a call of an answer that breaks off is not carried out', async (t) => {
  const { bodies, run } = await scripted(t, (turn) =>
    turn === 1 ? calling(['{"path": ', '"a']) : say(turn, END),
  );
  assert.equal((await run()).text, 'I am done.');
  assert.deepEqual(
    objects(bodies[1]?.messages).map(({ role }) => role),
    ['system', 'user'],
  );
});

it('an error in the stream counts by its own code', async (t) => {
  const error = { code: 402, message: 'Insufficient credits' };
  const { bodies, run } = await scripted(t, () => sse([{ id: '1', error, choices: [] }]));
  const { error: failure } = await run();
  assert.match(failure?.message ?? '', /Insufficient credits/);
  assert.equal(bodies.length, 1, 'no use in another try');
});
