import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { finish } from '../../testing/script.ts';
import { at, message, type Served, serve } from '../../testing/serve.ts';
import { type OpenStream, openStream } from '../../testing/sse.ts';

/** Long enough that a turn is taken for it, and that the buffers of a connection do not take a hundred. */
const CHUNK = 'x'.repeat(100_000);
const CHUNKS = 100;

/** A running task, and a stream of it whose client has read the first event only. */
async function begun(
  t: Parameters<typeof serve>[0],
): Promise<{ served: Served; id: string; stream: OpenStream }> {
  const served = await serve(t, { script: async () => undefined, clock: manualClock() });
  const configuration = { returnImmediately: true };
  const { body } = await served.rpc('SendMessage', { ...message('go'), configuration });
  const id = String(at(body, 'result', 'task', 'id'));
  await served.ledger.append(id, { type: 'started', data: {} });
  const stream = await openStream(served, 'SubscribeToTask', { id });
  await stream.next();
  for (let n = 0; n < CHUNKS; n += 1) await served.ledger.append(id, { type: 'text', data: { text: CHUNK } });
  return { served, id, stream };
}

const lastState = async (stream: OpenStream): Promise<unknown> =>
  at((await stream.rest()).at(-1)?.data ?? {}, 'result', 'statusUpdate', 'status', 'state');

test('when the service closes, a client that reads slowly still gets the end of a task that has ended', async (t) => {
  const { served, id, stream } = await begun(t);
  await finish(served.ledger, id, 'done', { text: CHUNK });
  const closed = served.closeStreams();
  assert.equal(await lastState(stream), 'TASK_STATE_COMPLETED');
  await closed;
});

test('when the service closes, the stream of a task that goes on ends before it', async (t) => {
  const { served, stream } = await begun(t);
  const closed = served.closeStreams();
  assert.equal(await lastState(stream), undefined);
  await closed;
});
