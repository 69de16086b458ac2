import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HANDSHAKE_EXTENSION, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { ArtifactChunk, ArtifactPart } from '@hermes-fleet/protocol/ports';
import { finish } from '../../testing/script.ts';
import { at, message, OTHER_TOKEN, READ_TOKEN, type Served, serve, TOKEN } from '../../testing/serve.ts';
import { openStream, type SseMessage } from '../../testing/sse.ts';

const LIMITS = { artifactBytes: 2 ** 22, taskBytes: 2 ** 23 };
const ACTIVE = { 'a2a-extensions': HANDSHAKE_EXTENSION };
const LARGE = Buffer.alloc(300_000, 'y');

const chunk = (
  id: string,
  place: number,
  part: ArtifactPart,
  more: Partial<ArtifactChunk> = {},
): ArtifactChunk => ({
  id,
  place,
  parts: [part],
  isLast: false,
  ...more,
});

const CHUNKS: readonly ArtifactChunk[] = [
  chunk('report', 0, { kind: 'text', text: 'one ' }, { name: 'report.md', description: 'found' }),
  chunk('report', 1, { kind: 'text', text: 'two' }, { isLast: true }),
  chunk('data', 0, { kind: 'data', data: { n: 1 } }, { isLast: true }),
  chunk(
    'image',
    0,
    { kind: 'file', base64: 'aGV5', name: 'a.png', mediaType: 'image/png' },
    { isLast: true },
  ),
  chunk('link', 0, { kind: 'link', url: 'https://x.example/b' }, { isLast: true }),
];
const ALL_PARTS = [
  [{ text: 'one two', mediaType: 'text/plain' }],
  [{ data: { n: 1 }, mediaType: 'application/json' }],
  [{ raw: 'aGV5', filename: 'a.png', mediaType: 'image/png' }],
  [{ url: 'https://x.example/b' }],
];

/** A profile whose tasks have these artifacts, and end after them. */
function producing(t: TestContext, chunks = CHUNKS): Promise<Served> {
  const served: Promise<Served> = serve(t, {
    script: async (id) => {
      const { ledger } = await served;
      await ledger.append(id, { type: 'started', data: {} });
      for (const each of chunks) await ledger.addArtifact(id, each, LIMITS);
      await finish(ledger, id, 'done', { text: 'made' });
    },
  });
  return served;
}

const list = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const names = (task: unknown): unknown[] => list(at(task, 'artifacts')).map(({ artifactId }) => artifactId);
const send = async (served: Served, params = message('go'), headers: Record<string, string> = {}) =>
  at((await served.rpc('SendMessage', params, { headers })).body, 'result', 'task');
const updates = (events: readonly SseMessage[]): JsonObject[] =>
  events.flatMap(({ data }) => {
    const update = at(data, 'result', 'artifactUpdate');
    return isJsonObject(update) ? [update] : [];
  });

test('a task has the artifacts of its executor: before the result, or after it for a client with the handshake', async (t) => {
  const served = await producing(t);
  const task = await send(served);
  const own = ['report', 'data', 'image', 'link'];
  assert.deepEqual(names(task), [...own, 'task-result', 'text']);
  assert.deepEqual(
    list(at(task, 'artifacts'))
      .slice(0, 4)
      .map(({ parts }) => parts),
    ALL_PARTS,
  );
  assert.deepEqual(
    [at(task, 'artifacts', 0, 'name'), at(task, 'artifacts', 0, 'description')],
    ['report.md', 'found'],
  );
  const id = String(at(task, 'id'));
  const read = async (headers: Record<string, string>): Promise<unknown> =>
    at((await served.rpc('GetTask', { id }, { headers })).body, 'result');
  assert.deepEqual(names(await read({})), [...own, 'task-result', 'text']);
  assert.deepEqual(names(await read(ACTIVE)), ['task-result', 'text', ...own]);
  const listed = async (params: JsonObject): Promise<unknown> =>
    at((await served.rpc('ListTasks', params)).body, 'result', 'tasks', 0);
  assert.deepEqual(names(await listed({ includeArtifacts: true })), [...own, 'task-result', 'text']);
  assert.deepEqual(names(await listed({})), []);
});

test('a stream has each chunk as it is stored, and the result after them', async (t) => {
  const served = await producing(t);
  const events = await (await openStream(served, 'SendStreamingMessage', message('go'))).rest();
  const seen = updates(events).map(({ artifact, append, lastChunk }) => [
    at(artifact, 'artifactId'),
    at(artifact, 'parts', 0, 'text'),
    append ?? false,
    lastChunk ?? false,
  ]);
  assert.deepEqual(seen.slice(0, 5), [
    ['report', 'one ', false, false],
    ['report', 'two', true, true],
    ['data', undefined, false, true],
    ['image', undefined, false, true],
    ['link', undefined, false, true],
  ]);
  assert.deepEqual(
    seen.slice(5).map(([id]) => id),
    ['task-result', 'text'],
  );
  assert.ok(events.slice(0, -3).every(({ id }) => id !== undefined));
  assert.equal(at(events.at(-1)?.data, 'result', 'statusUpdate', 'status', 'state'), 'TASK_STATE_COMPLETED');
});

test('a stream that is resumed after any chunk has the later ones only; a new one has those before in its task', async (t) => {
  const served = await serve(t, { script: async () => undefined });
  const params = { ...message('go'), configuration: { returnImmediately: true } };
  const id = String(at(await send(served, params), 'id'));
  const whole = await openStream(served, 'SubscribeToTask', { id });
  await whole.next();
  const ids: string[] = [];
  for (const each of CHUNKS) {
    await served.ledger.addArtifact(id, each, LIMITS);
    ids.push((await whole.next())?.id ?? '');
  }
  const begun = await openStream(served, 'SubscribeToTask', { id });
  const first = at((await begun.next())?.data, 'result', 'task');
  assert.deepEqual(
    list(at(first, 'artifacts')).map(({ parts }) => parts),
    ALL_PARTS,
  );
  await finish(served.ledger, id);
  assert.deepEqual(updates(await begun.rest()).length, 2);
  for (const [index, lastEventId] of ids.entries()) {
    const resumed = await openStream(served, 'SubscribeToTask', { id }, { 'last-event-id': lastEventId });
    const [task, ...rest] = await resumed.rest();
    assert.equal(at(task?.data, 'result', 'task', 'artifacts'), undefined);
    assert.equal(updates(rest).length, CHUNKS.length - 1 - index + 2);
  }
  const [task, ...rest] = await (
    await openStream(
      served,
      'SubscribeToTask',
      { id },
      { 'last-event-id': String(served.ledger.get(id)?.lastSeq) },
    )
  ).rest();
  assert.deepEqual([names(at(task?.data, 'result', 'task')), rest], [[], []]);
});

test('a chunk that replaces an artifact is sent without append, and those before it only until then', async (t) => {
  const served = await producing(t, [
    chunk('a', 0, { kind: 'text', text: 'old' }),
    chunk('a', 1, { kind: 'text', text: 'new' }, { replaces: true, name: 'later' }),
  ]);
  const events = await (await openStream(served, 'SendStreamingMessage', message('go'))).rest();
  const last = updates(events).findLast(({ artifact }) => at(artifact, 'artifactId') === 'a');
  assert.deepEqual([at(last?.artifact, 'parts', 0, 'text'), last?.append ?? false], ['new', false]);
  const id = at(events[0]?.data, 'result', 'task', 'id');
  const task = at((await served.rpc('GetTask', { id: String(id) })).body, 'result');
  assert.deepEqual(at(task, 'artifacts', 0, 'parts'), [{ text: 'new', mediaType: 'text/plain' }]);
  assert.equal(at(task, 'artifacts', 0, 'name'), 'later');
});

test('A2A 0.3 has the same artifacts in its forms', async (t) => {
  const served = await producing(t);
  const params = {
    message: { kind: 'message', role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'go' }] },
  };
  const events = await (await openStream(served, 'message/stream', params)).rest();
  const seen = events.flatMap(({ data }) =>
    at(data, 'result', 'kind') === 'artifact-update' ? [at(data, 'result')] : [],
  );
  assert.deepEqual(
    seen.slice(0, 5).map((update) => at(update, 'artifact', 'parts', 0)),
    [
      { kind: 'text', text: 'one ' },
      { kind: 'text', text: 'two' },
      { kind: 'data', data: { n: 1 } },
      { kind: 'file', file: { bytes: 'aGV5', name: 'a.png', mimeType: 'image/png' } },
      { kind: 'file', file: { uri: 'https://x.example/b' } },
    ],
  );
  assert.equal(at(seen[1], 'append'), true);
  const id = String(at(seen[0], 'taskId'));
  const task = at((await served.rpc('tasks/get', { id })).body, 'result');
  assert.deepEqual(names(task), ['report', 'data', 'image', 'link', 'task-result', 'text']);
});

test('a large part is a URL of the profile, which serves it to the caller of its task alone', async (t) => {
  const served = await producing(t, [
    chunk('big', 0, {
      kind: 'file',
      base64: LARGE.toString('base64'),
      name: 'größe "1".html',
      mediaType: 'text/html',
    }),
    chunk('long', 0, { kind: 'text', text: 'z'.repeat(300_000) }),
  ]);
  const task = await send(served);
  const part = at(task, 'artifacts', 0, 'parts', 0);
  assert.deepEqual(
    [at(part, 'raw'), at(part, 'filename'), at(part, 'mediaType')],
    [undefined, 'größe "1".html', 'text/html'],
  );
  const url = String(at(part, 'url'));
  assert.ok(url.startsWith(`${served.url}/artifacts/${String(at(task, 'id'))}/`), url);
  const get = (address: string, token: string): Promise<Response> =>
    fetch(address, { headers: { authorization: `Bearer ${token}` } });
  const own = await get(url, TOKEN);
  assert.ok(LARGE.equals(Buffer.from(await own.arrayBuffer())));
  assert.deepEqual(
    ['content-type', 'content-disposition', 'x-content-type-options', 'content-security-policy'].map((name) =>
      own.headers.get(name),
    ),
    [
      'text/html',
      "attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe%20%221%22.html",
      'nosniff',
      "default-src 'none'; sandbox",
    ],
  );
  const long = await get(String(at(task, 'artifacts', 1, 'parts', 0, 'url')), TOKEN);
  assert.deepEqual([long.headers.get('content-type'), (await long.text()).length], ['text/plain', 300_000]);
  const answers = async (address: string, token: string): Promise<unknown> => {
    const response = await get(address, token);
    return [response.status, await response.text()];
  };
  const unknown = await answers(`${served.url}/artifacts/nobody/1/0`, TOKEN);
  assert.equal(at(unknown, 0), 404);
  assert.deepEqual(await answers(url, OTHER_TOKEN), unknown);
  assert.deepEqual(await answers(url, READ_TOKEN), unknown);
  for (const path of ['1/0', `${url.split('/').at(-2)}/1`, `${url.split('/').at(-2)}/x`])
    assert.deepEqual(
      await answers(`${served.url}/artifacts/${String(at(task, 'id'))}/${path}`, TOKEN),
      unknown,
    );
  assert.equal((await fetch(url)).status, 401);
  assert.equal((await get(url, 'token-of-announcer-0123456789')).status, 403);
});

test('a page of a list with artifacts is shorter where they are large', async (t) => {
  const inline = [0, 1, 2].map((n) =>
    chunk(`f${n}`, 0, { kind: 'file', base64: Buffer.alloc(250_000).toString('base64') }),
  );
  const served = await producing(t, inline);
  for (const key of ['a', 'b', 'c', 'd']) await send(served, message(key));
  let pageToken = '';
  const pages: number[] = [];
  do {
    const { body } = await served.rpc('ListTasks', { includeArtifacts: true, pageToken });
    pages.push(list(at(body, 'result', 'tasks')).length);
    pageToken = String(at(body, 'result', 'nextPageToken') ?? '');
  } while (pageToken !== '');
  assert.deepEqual(pages, [2, 2]);
  assert.equal(list(at((await served.rpc('ListTasks', {})).body, 'result', 'tasks')).length, 4);
});

test('accepted output modes leave out what a client does not accept, and are refused if the agent offers none', async (t) => {
  const served = await producing(t);
  const sent = async (acceptedOutputModes: string[], headers = {}): Promise<unknown> =>
    names(await send(served, { ...message('go'), configuration: { acceptedOutputModes } }, headers));
  assert.deepEqual(await sent(['text/plain']), ['report', 'link', 'text']);
  assert.deepEqual(await sent(['text']), ['report', 'link', 'text']);
  assert.deepEqual(await sent(['text/*', 'image/*']), ['report', 'image', 'link', 'text']);
  assert.deepEqual(await sent(['TEXT/plain; charset=utf-8'], ACTIVE), [
    'task-result',
    'text',
    'report',
    'link',
  ]);
  assert.equal(((await sent(['*/*'])) as unknown[]).length, 6);
  const before = served.intake.inbound.length;
  const configuration = { acceptedOutputModes: ['image/png'] };
  const { body } = await served.rpc('SendMessage', { ...message('go'), configuration });
  assert.equal(at(body, 'error', 'code'), -32005);
  assert.match(
    String(at(body, 'error', 'message')),
    /configuration\.acceptedOutputModes .*offers: text\/plain, application\/json/,
  );
  assert.equal(served.intake.inbound.length, before, 'nothing was accepted');
  const stream = await openStream(served, 'SendStreamingMessage', {
    ...message('go'),
    configuration: { acceptedOutputModes: ['text/plain'] },
  });
  const shown = updates(await stream.rest()).map(({ artifact }) => at(artifact, 'artifactId'));
  assert.deepEqual(shown, ['report', 'report', 'link', 'text']);
});
