import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { makeAgent, makeContext, makeTask } from '../../../testing/harness.ts';
import { restartableServer } from '../../../testing/restartable-server.ts';

const CHUNK = Buffer.alloc(64 * 1024, 'x');
/** More than a reader with a bound takes, and less than a test without one can hold. */
const MOST = 128 * 1024 * 1024;

/** A run whose provider answers with this status and a body without an end, and how many bytes it could send. */
async function flooded(t: TestContext, status: number, start: string) {
  let sent = 0;
  const { url } = await restartableServer(t, async (request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'text/event-stream' }).write(start);
    const closed = once(response, 'close');
    while (!response.destroyed && sent < MOST) {
      sent += CHUNK.length;
      if (!response.write(CHUNK)) await Promise.race([once(response, 'drain'), closed]);
    }
    response.end();
  });
  const log = recordingLog();
  const config = { model: 'openai-compatible/m', base_url: url, model_calls: { broken_answers: 0 } };
  const agent = await makeAgent(t, config, { log });
  const result = await agent.executor.run(makeTask('Hello?'), makeContext());
  assert.equal(result.status, 'error');
  return { said: JSON.stringify(result), sent: () => sent, log };
}

describe('an answer without an end', { timeout: 120_000 }, () => {
  for (const [what, status, start, reason] of [
    ['an error', 400, 'no ', /answered 400/],
    ['the line of a stream', 200, 'data: "', /broke off/],
  ] as const)
    it(`is not read to the end: ${what}`, async (t) => {
      const { said, sent } = await flooded(t, status, start);
      assert.match(said, reason);
      assert.ok(sent() < MOST / 2, `${sent()} bytes were taken`);
    });
});
