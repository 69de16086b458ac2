import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../../testing/script.ts';
import { at, message, serve } from '../../testing/serve.ts';
import { type OpenStream, openStream } from '../../testing/sse.ts';

const STREAMS = 1_000;
/** Opened at once: a server that gets more connections than it can greet turns the oldest away. */
const BATCH = 100;

test('a caller with a limit of 1,000 has 1,000 open streams, and closing half of them disturbs no other', async (t) => {
  const served = await serve(t, { script: async () => undefined, maxStreamsPerCaller: STREAMS });
  const sent = await served.rpc('SendMessage', {
    ...message('go'),
    configuration: { returnImmediately: true },
  });
  const id = String(at(sent.body, 'result', 'task', 'id'));
  const leaving = new AbortController();
  const streams: OpenStream[] = [];
  while (streams.length < STREAMS) {
    const batch = Array.from({ length: BATCH }, (_, index) =>
      openStream(served, 'SubscribeToTask', { id }, {}, index % 2 === 0 ? leaving.signal : undefined),
    );
    streams.push(...(await Promise.all(batch)));
  }
  const first = await Promise.all(streams.map((stream) => stream.next()));
  assert.ok(first.every((event) => at(event?.data, 'result', 'task', 'id') === id));
  const signal = AbortSignal.timeout(20_000);
  const refused = await served.rpc('SubscribeToTask', { id }, { signal });
  assert.deepEqual([refused.status, at(refused.body, 'error', 'code')], [429, -32000]);

  const staying = streams.filter((_, index) => index % 2 === 1);
  const gone = streams.filter((_, index) => index % 2 === 0).map((stream) => assert.rejects(stream.next()));
  leaving.abort();
  await Promise.all(gone);
  await served.ledger.append(id, { type: 'started', data: {} });
  await served.ledger.append(id, { type: 'text', data: { text: 'one' } });
  await finish(served.ledger, id, 'done', { text: 'one' });
  const rests = await Promise.all(staying.map((stream) => stream.rest()));
  const [expected] = rests;
  assert.equal(expected?.length, 5);
  const last = at(expected?.at(-1)?.data, 'result', 'statusUpdate', 'status', 'state');
  assert.equal(last, 'TASK_STATE_COMPLETED');
  for (const rest of rests) assert.deepEqual(rest, expected);
});
