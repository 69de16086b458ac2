import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError, isJsonObject } from '@hermes-fleet/protocol';
import { type Clock, type RunEvent, systemClock } from '@hermes-fleet/protocol/ports';
import { makeAgent, makeContext, makeTask, type TestRun } from '../../testing/harness.ts';
import { restartableServer } from '../../testing/restartable-server.ts';
import { scriptedAgent } from '../../testing/scripted-run.ts';
import { env, KEYED, type Reply, say } from '../../testing/scripted-server.ts';

const USAGE = { prompt_tokens: 900, completion_tokens: 5, total_tokens: 905 };
const refused = (
  status: number,
  headers: Record<string, string> = { 'retry-after': '0' },
  body = '{}',
): Reply => ({
  status,
  headers,
  body,
});

/** The data of the progress events about attempts that were repeated. */
const retriesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) =>
    event.type === 'progress' && isJsonObject(event.data.retry) ? [event.data.retry] : [],
  );
const textOf = (events: readonly RunEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'text' ? [event.text] : []));

test('a call that the provider refuses for the moment is repeated, and costs nothing', async (t) => {
  const statuses = [429, 500, 502, 503, 504, 529, 408];
  const waits: number[] = [];
  const clock: Clock = { ...systemClock, sleep: async (ms) => void waits.push(ms) };
  const run = await scriptedAgent(
    t,
    [...statuses.map((status) => refused(status)), say('Done.', USAGE)],
    { model_calls: { new_task_patience_s: 600 } },
    { clock },
  );
  const { result, context, requests } = await run({ limit: 10_000 });
  assert.deepEqual([result.status, result.text], ['done', 'Done.'], JSON.stringify(result));
  assert.equal(requests.length, statuses.length + 1);
  assert.deepEqual([context.budget.spent(), context.budget.usage().source], [905, 'metered']);
  const retries = retriesOf(context.events);
  assert.deepEqual(
    retries.map(({ wait_ms: _, ...retry }) => retry),
    statuses.map((status, at) => ({
      attempt: at + 1,
      reason: 'refused',
      http_status: status,
      text_void: false,
    })),
  );
  // A provider that asks for no delay is not called in a busy loop.
  for (const { wait_ms: ms } of retries) assert.ok(Number(ms) > 0 && waits.includes(Number(ms)), String(ms));
});

test('a provider that is away is called again when it is back', async (t) => {
  const answer = `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content: 'Back.' }, finish_reason: 'stop' }] })}\n\n`;
  const server = await restartableServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer);
  });
  await server.stop();
  const agent = await makeAgent(t, { ...KEYED, base_url: `${server.url}/v1` }, { env });
  const started: Promise<void>[] = [];
  const context = makeContext({
    onEvent: (event) => void (retriesOf([event]).length > 0 && started.push(server.start())),
  });
  const result = await agent.executor.run(makeTask('x'), context);
  await Promise.all(started);
  assert.deepEqual([result.status, result.text], ['done', 'Back.'], JSON.stringify(result));
  assert.deepEqual(
    retriesOf(context.events).map(({ reason, http_status }) => [reason, http_status]),
    [['unreachable', null]],
  );
});

for (const [what, reply] of [
  ['is cut', { cut: true }],
  ['ends without a finish reason', { unfinished: true }],
] as const)
  test(`an answer that ${what} is asked for again, what was received is charged, and its text is void`, async (t) => {
    const run = await scriptedAgent(t, [
      { ...reply, deltas: [{ content: 'I begin to write\n' }, { content: '```outcome\n' }] },
      say('Done.', USAGE),
    ]);
    const { result, context, requests } = await run({ limit: 100_000 });
    assert.deepEqual(
      [result.status, result.text, requests.length],
      ['done', 'Done.', 2],
      JSON.stringify(result),
    );
    assert.deepEqual(textOf(context.events).join('|'), 'I begin to write|Done.');
    const [retry] = retriesOf(context.events);
    assert.deepEqual([retry?.reason, retry?.text_void], ['broken', true]);
    const { source, outputTokens, inputTokens } = context.budget.usage();
    assert.equal(source, 'estimated');
    assert.ok(outputTokens > 5 && outputTokens < 20, String(outputTokens));
    assert.ok(inputTokens > 900);
  });

test('an answer that breaks off each time is given up, as often as is configured', async (t) => {
  const config = { model_calls: { broken_answers: 1 } };
  const run = await scriptedAgent(t, () => ({ cut: true, deltas: [{ content: 'I' }] }), config);
  const { result, requests } = await run();
  assert.deepEqual([result.status, result.error?.code, requests.length], ['error', 'model_failed', 2]);
  assert.match(result.error?.message ?? '', /broke off.*the last of 2 attempts/);
});

for (const [key, deltas] of [
  ['first_token_s', []],
  ['idle_s', [{ content: 'I think' }]],
] as const)
  test(`an answer beyond ${key} is asked for again, and its input is charged`, async (t) => {
    const script: Reply[] = [{ hang: true, deltas: [...deltas] }, say('Done.', USAGE)];
    const run = await scriptedAgent(t, script, { model_calls: { [key]: 1 } });
    const { result, context, requests } = await run({ limit: 100_000 });
    assert.deepEqual([result.status, requests.length], ['done', 2], JSON.stringify(result));
    const [retry] = retriesOf(context.events);
    assert.deepEqual([retry?.reason, retry?.text_void], ['silent', deltas.length > 0]);
    assert.ok(context.budget.usage().inputTokens > 1_000, 'the provider may charge what it has read');
  });

test('a provider that takes the connection and never answers ends the run by first_token_s, which the error names', async (t) => {
  let asked = 0;
  const server = await restartableServer(t, () => {
    asked += 1;
  });
  const config = {
    ...KEYED,
    base_url: `${server.url}/v1`,
    model_calls: { first_token_s: 1, broken_answers: 1 },
  };
  const agent = await makeAgent(t, config, { env });
  const { error } = await agent.executor.run(makeTask('x'), makeContext({ limit: 100_000 }));
  assert.deepEqual([error?.code, error?.retryable, asked], ['model_failed', true, 2]);
  assert.match(
    error?.message ?? '',
    /sent no token within 1 s \(model_calls\.first_token_s\) \(the last of 2 attempts in \d s\)/,
  );
});

test('what does not pass is not repeated', async (t) => {
  const quota = '{"error":{"message":"no money","code":"insufficient_quota"}}';
  const final = [
    refused(400),
    refused(401),
    refused(404),
    refused(501),
    refused(429, {}, quota),
    refused(503, { 'x-should-retry': 'false' }),
  ];
  for (const reply of final) {
    const run = await scriptedAgent(t, () => reply);
    const { result, context, requests } = await run();
    assert.deepEqual([result.error?.code, result.error?.retryable], ['model_failed', false]);
    assert.deepEqual([requests.length, context.budget.spent()], [1, 0]);
  }
});

test('a provider that asks for more time than there is patience, or than the deadline leaves, ends the run at once', async (t) => {
  const later = refused(429, { 'retry-after': '60' });
  const impatient = await scriptedAgent(t, () => later, { model_calls: { patience_s: 10 } });
  const { result, requests } = await impatient();
  assert.match(result.error?.message ?? '', /provider answered 429$/);
  assert.deepEqual([result.error?.retryable, requests.length], [true, 1]);
  const patient = await scriptedAgent(t, () => later);
  const due = await patient({ deadlineAt: Date.now() + 30_000 });
  assert.deepEqual([due.result.error?.code, due.requests.length], ['model_failed', 1]);
});

/** Ends a run that waits for a minute. */
async function whileWaiting(t: Parameters<typeof scriptedAgent>[0], end: (context: TestRun) => void) {
  let isBack = false;
  const run = await scriptedAgent(t, () =>
    isBack ? say('Done.', USAGE) : refused(429, { 'retry-after': '60' }),
  );
  let seen: TestRun | undefined;
  const running = run({
    contextId: 'c',
    onProgress: (context) => {
      seen = context;
      end(context);
    },
  });
  return {
    running,
    checkpoint: () => seen?.checkpoints.at(-1) ?? assert.fail('no checkpoint'),
    resume(checkpoint: NonNullable<Parameters<typeof run>[0]>['checkpoint']) {
      isBack = true;
      return run({ contextId: 'c', ...(checkpoint && { checkpoint }) });
    },
  };
}

test('a cancel ends the wait for a provider at once, without a charge', { timeout: 30_000 }, async (t) => {
  const reason = new FleetError('CANCELED', 'canceled by the caller');
  const { running } = await whileWaiting(t, ({ controller }) => controller.abort(reason));
  const { result, context } = await running;
  assert.deepEqual([result.error?.code, context.budget.spent()], ['canceled', 0]);
});

test('a stop of the gateway ends the wait at once, and the next start calls again', {
  timeout: 30_000,
}, async (t) => {
  const reason = new FleetError('SHUTTING_DOWN', 'stopping');
  const waiting = await whileWaiting(t, ({ pausing }) => pausing.abort(reason));
  await assert.rejects(waiting.running, reason);
  const { result, context } = await waiting.resume(waiting.checkpoint());
  assert.deepEqual([result.status, context.budget.spent()], ['done', 905]);
});
