import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { restartableServer } from '../../../testing/restartable-server.ts';
import { chatAnswerFetch } from './chat-answer.ts';

const CHUNK = 'data: {"id":7,"choices":[{"delta":{"content":"a"},"finish_reason":null}]}\n\n';
const END = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

/** The answer to a body that is sent without an end. `closed` resolves when its connection is closed. */
async function answered(t: TestContext, body: string) {
  const closed = Promise.withResolvers<void>();
  let cut = (): void => {};
  const { url } = await restartableServer(t, (request, response) => {
    request.resume();
    cut = () => void response.destroy();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(body);
    once(response, 'close').then(() => closed.resolve(), closed.reject);
  });
  const log = recordingLog();
  const response = await chatAnswerFetch(fetch, { log, secrets: ['s3cret'] })(url);
  return { response, log, closed: closed.promise, cut: () => cut() };
}

test('an answer ends at [DONE], and its connection is closed', { timeout: 20_000 }, async (t) => {
  const { response, closed } = await answered(t, CHUNK + END);
  assert.match(await response.text(), /"id":"7".*"content":"a"[\s\S]*data: \[DONE\]\n\n$/);
  await closed;
});

test('a connection is closed after an error that begins an answer', { timeout: 20_000 }, async (t) => {
  const { response, closed } = await answered(t, 'data: {"error":{"message":"slow down","code":429}}\n\n');
  assert.equal(response.status, 429);
  assert.match(await response.text(), /slow down/);
  await closed;
});

test('what says nothing is left out, and logged once an answer, without secrets', async (t) => {
  const { response, log } = await answered(
    t,
    `data: {"type":"ping s3cret"}\n\ndata: keep-alive\n\n${CHUNK}${END}`,
  );
  assert.doesNotMatch(await response.text(), /ping|alive/);
  assert.deepEqual(
    log.entries.map(({ fields }) => fields),
    [{ frames: 2, first: '{"type":"ping [redacted]"}' }],
  );
});

test('an answer with a damaged frame fails, unless it has its finish reason', {
  timeout: 20_000,
}, async (t) => {
  const damaged = 'data: {"choices":[{"delta":{"content":"b\n\n';
  const { response } = await answered(t, `${CHUNK}${damaged}${END}`);
  assert.match(await response.text(), /"content":"a"[\s\S]*"error":\{"message":"a frame is no JSON: \{/);
  const late = await answered(t, `${CHUNK}${END.replace('data: [DONE]', damaged)}`);
  assert.match(await late.response.text(), /"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/);
});

test('an answer without [DONE] ends soon after its finish reason', { timeout: 20_000 }, async (t) => {
  const { response, closed } = await answered(t, CHUNK + END.replace('data: [DONE]\n\n', ''));
  assert.match(await response.text(), /data: \[DONE\]\n\n$/);
  await closed;
});

test('an answer that is cut fails where each piece has a finish reason', { timeout: 20_000 }, async (t) => {
  const { response, cut } = await answered(t, CHUNK.replace('null', '"stop"'));
  const reader = response.body?.getReader();
  await reader?.read();
  cut();
  await assert.rejects(async () => reader?.read());
});

test('a reader that goes away closes the connection, also while it waits', { timeout: 20_000 }, async (t) => {
  const { response, closed } = await answered(t, CHUNK);
  const reader = response.body?.getReader();
  await reader?.read();
  const waiting = reader?.read();
  await reader?.cancel();
  assert.equal((await waiting)?.done, true);
  await closed;
});
