import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { at, message, type Served, serve, TOKEN } from '../../testing/serve.ts';
import { openStream } from '../../testing/sse.ts';

/** As in request-handler.ts. */
const MAX_LARGE_UPDATES = 8;
const PARTS = 4;
const PART_BYTES = 256 * 1024;
const LIMITS = { artifactBytes: 2 ** 24, taskBytes: 2 ** 24 };

/** A running task with 1 MiB of artifacts in its replies, which each have `text`. */
async function largeTask(t: TestContext, text: string): Promise<[Served, string]> {
  const served = await serve(t, { script: async () => undefined });
  const { body } = await served.rpc('SendMessage', {
    ...message('go'),
    configuration: { returnImmediately: true },
  });
  const id = String(at(body, 'result', 'task', 'id'));
  await served.ledger.append(id, { type: 'started', data: {} });
  const parts = [{ kind: 'text' as const, text }];
  for (let n = 0; n < PARTS; n += 1)
    await served.ledger.addArtifact(id, { id: `a${n}`, place: 0, parts, isLast: true }, LIMITS);
  return [served, id];
}

/** A client that subscribes to a task, and reads nothing. */
function subscribe(t: TestContext, served: Served, id: string): Socket {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'SubscribeToTask', params: { id } });
  const { hostname, port } = new URL(served.url);
  const socket = connect(Number(port), hostname);
  t.after(() => socket.destroy());
  socket.write(
    `POST /jsonrpc HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

/** Counts the calls of a method of the ledger; `reach` resolves when there were so many. */
function counted(t: TestContext, served: Served, method: 'artifacts' | 'inlineArtifactBytes' | 'watch') {
  const waiting: { calls: number; resolve: () => void }[] = [];
  const original = served.ledger[method].bind(served.ledger) as (...args: unknown[]) => unknown;
  let calls = 0;
  t.mock.method(served.ledger, method, (...args: unknown[]) => {
    calls += 1;
    for (const one of waiting) if (calls >= one.calls) one.resolve();
    return original(...args);
  });
  return {
    calls: () => calls,
    reach: (wanted: number) =>
      new Promise<void>((resolve) => {
        if (calls >= wanted) resolve();
        else waiting.push({ calls: wanted, resolve });
      }),
  };
}

test('a caller whose clients do not read has eight large updates unsent; its further streams wait for them', async (t) => {
  // In JSON, this is six times as long: more than the buffers of a connection take.
  const [served, id] = await largeTask(t, '\u0001'.repeat(PART_BYTES));
  const small = await served.rpc('SendMessage', {
    message: { messageId: 'm-2', role: 'ROLE_USER', parts: [{ text: 'go' }] },
    configuration: { returnImmediately: true },
  });
  const asked = counted(t, served, 'inlineArtifactBytes');
  const read = counted(t, served, 'artifacts');
  const unread = Array.from({ length: MAX_LARGE_UPDATES }, () => subscribe(t, served, id));
  await read.reach(MAX_LARGE_UPDATES);
  const further = Array.from({ length: 4 }, () => subscribe(t, served, id));
  await asked.reach(MAX_LARGE_UPDATES + 4);
  const other = await openStream(served, 'SubscribeToTask', {
    id: String(at(small.body, 'result', 'task', 'id')),
  });
  await other.next();
  assert.equal(read.calls(), MAX_LARGE_UPDATES + 1, 'more than eight large updates are in memory');

  further[0]?.destroy();
  unread[0]?.destroy();
  await read.reach(MAX_LARGE_UPDATES + 2);
  const answers = [further[2], further[3]].map(async (socket) =>
    String(await once(socket ?? assert.fail(), 'data')),
  );
  const closing = served.closeStreams();
  for (const answer of await Promise.all(answers)) {
    assert.match(answer, /^HTTP\/1\.1 503 /);
    assert.match(answer, /"SHUTTING_DOWN"/);
  }
  for (const socket of [...unread, ...further]) socket.destroy();
  await closing;
  const failed = served.logLines.filter((line) => /INTERNAL/.test(line));
  assert.deepEqual(failed, []);
});

test('an open stream that its client has read keeps nothing of its large updates', async (t) => {
  const STREAMS = 40;
  const [served, id] = await largeTask(t, 'x'.repeat(PART_BYTES));
  setFlagsFromString('--expose-gc');
  const heap = (): number => {
    runInNewContext('gc')();
    return process.memoryUsage().heapUsed;
  };
  const watched = counted(t, served, 'watch');
  const before = heap();
  const streams = Array.from({ length: STREAMS }, () => subscribe(t, served, id).resume());
  await watched.reach(STREAMS);
  const mib = (heap() - before) / 2 ** 20;
  assert.ok(mib < STREAMS / 4, `${STREAMS} idle streams of a task with 1 MiB of artifacts hold ${mib} MiB`);
  for (const stream of streams) stream.destroy();
});
