import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startProfile } from '../support/lone-profile.ts';
import { call, post, resultOf, type Target, textMessage } from '../support/rpc.ts';

const STREAMS = 1_000;

const BRIEF = [
  '```tool ask_caller',
  '{"question": "Which room?"}',
  '```',
  '',
  '```sh',
  'echo painted > painted.txt',
  'cat painted.txt',
  '```',
].join('\n');

const rpc = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

interface Stream {
  /** Resolves with all that it carried, once the profile ends it; rejects if it is cut. */
  readonly end: Promise<string>;
  /** Closes it from the side of the client. */
  close(): void;
}

/** A subscription to a task, open once its first event is there. */
async function subscribe({ url, token }: Target, id: string): Promise<Stream> {
  const leave = new AbortController();
  const response = await fetch(`${url}/jsonrpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: rpc('SubscribeToTask', { id }),
    signal: leave.signal,
  });
  assert.equal(response.headers.get('content-type'), 'text/event-stream', `status ${response.status}`);
  const reader = (response.body ?? assert.fail('no body')).pipeThrough(new TextDecoderStream()).getReader();
  let seen = (await reader.read()).value ?? '';
  const end = (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) seen += next.value;
    return seen;
  })();
  end.catch(() => undefined);
  return { end, close: () => leave.abort() };
}

test('a caller may have 1,000 streams where its limit allows them, and closing half disturbs no other', {
  timeout: 240_000,
}, async (t) => {
  const profile = await startProfile(t, {
    name: 'neo',
    fleet: { limits: { max_streams_per_caller: STREAMS } },
  });
  const asked = (await call(profile, 'SendMessage', textMessage(BRIEF))).body.result.task;
  assert.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED', JSON.stringify(asked));

  const streams: Stream[] = [];
  while (streams.length < STREAMS)
    streams.push(...(await Promise.all(Array.from({ length: 50 }, () => subscribe(profile, asked.id)))));
  const refused = await post(profile, rpc('SubscribeToTask', { id: asked.id }));
  assert.equal(refused.status, 429, 'the limit counts them all');

  for (const { close } of streams.filter((_, index) => index % 2 === 1)) close();
  const answer = {
    messageId: randomUUID(),
    role: 'ROLE_USER',
    taskId: asked.id,
    contextId: asked.contextId,
    parts: [{ text: 'The kitchen.' }],
  };
  const { body } = await call(profile, 'SendMessage', { message: answer });
  assert.equal(resultOf(body.result.task).status, 'done', JSON.stringify(body));

  const ids = (text: string): string[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id ?? '');
  const kept = await Promise.all(streams.filter((_, index) => index % 2 === 0).map(({ end }) => end));
  assert.equal(kept.length, STREAMS / 2);
  const [first = ''] = kept;
  assert.ok(ids(first).length > 2);
  for (const text of kept) {
    assert.deepEqual(ids(text), ids(first), 'each carries the same events, in order');
    assert.match(text, /TASK_STATE_COMPLETED/);
  }
  for (const { end } of streams.filter((_, index) => index % 2 === 1)) await assert.rejects(end);
});
