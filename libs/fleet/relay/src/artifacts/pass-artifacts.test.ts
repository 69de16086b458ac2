import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DONE, dispatching, relayFleet, type Script, type TestProfile } from '@hermes-fleet/gateway/testing';
import {
  type ArtifactChunk,
  type ArtifactPart,
  systemClock,
  type TaskArtifacts,
} from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { beyond, type Content, merged } from './continuation.ts';
import { createPassArtifacts } from './pass-artifacts.ts';

const LARGE = Buffer.alloc(600_000, 'z').toString('base64');
const text = (value: string): ArtifactPart => ({ kind: 'text', text: value });
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

const adding =
  (add: (artifacts: TaskArtifacts) => Promise<void>): Script =>
  async (_task, { artifacts }) => {
    if (artifacts) await add(artifacts);
    return DONE;
  };

const partsOf = (at: TestProfile, id: string, artifact: string): ArtifactPart[] =>
  at.ledger.wholeArtifact(id, artifact).flatMap(({ parts }) => parts);

test("a relayed task has its worker's artifacts as they come: text, data, links, and files of any size", async (t) => {
  const gate = Promise.withResolvers<void>();
  const { orchestrator } = await relayFleet(t, {
    neo: {
      script: adding(async ({ add }) => {
        await add(
          chunk(
            'report',
            0,
            { kind: 'text', text: 'one ', mediaType: 'text/markdown' },
            { name: 'r.md', description: 'd' },
          ),
        );
        await gate.promise;
        await add(
          chunk('report', 1, { kind: 'text', text: 'two', mediaType: 'text/markdown' }, { isLast: true }),
        );
        await add(chunk('data', 0, { kind: 'data', data: { n: 1 } }));
        await add(
          chunk('big', 0, { kind: 'file', base64: LARGE, name: 'big.bin', mediaType: 'application/zip' }),
        );
        await add(chunk('link', 0, { kind: 'link', url: 'https://x.example/b' }));
      }),
    },
  });
  const id = await orchestrator.send(dispatching());
  const first = await orchestrator.event(id, 'artifact');
  assert.deepEqual(
    [first.artifact_id, first.bytes, first.name],
    ['report', 4, 'r.md'],
    'before the task goes on',
  );
  gate.resolve();
  assert.equal((await orchestrator.result(id)).status, 'done');
  assert.deepEqual(partsOf(orchestrator, id, 'report'), [
    { kind: 'text', text: 'one ', mediaType: 'text/markdown' },
    { kind: 'text', text: 'two', mediaType: 'text/markdown' },
  ]);
  assert.deepEqual(partsOf(orchestrator, id, 'data'), [
    { kind: 'data', data: { n: 1 }, mediaType: 'application/json' },
  ]);
  assert.deepEqual(partsOf(orchestrator, id, 'big'), [
    { kind: 'file', base64: LARGE, name: 'big.bin', mediaType: 'application/zip' },
  ]);
  assert.deepEqual(partsOf(orchestrator, id, 'link'), [{ kind: 'link', url: 'https://x.example/b' }]);
  assert.equal(orchestrator.ledger.artifacts(id)[0]?.description, 'd');
  assert.ok(
    orchestrator.ledger.artifacts(id).every(({ id: name }) => name !== 'task-result' && name !== 'text'),
  );
});

test('an artifact that its worker replaces is replaced', async (t) => {
  const { orchestrator } = await relayFleet(t, {
    neo: {
      script: adding(async ({ add }) => {
        await add(chunk('a', 0, text('first draft'), { isLast: true }));
        await add(chunk('a', 1, text('final'), { replaces: true, isLast: true }));
      }),
    },
  });
  const id = await orchestrator.send(dispatching());
  await orchestrator.result(id);
  assert.equal(
    partsOf(orchestrator, id, 'a')
      .map((part) => part.kind === 'text' && part.text)
      .join(''),
    'final',
  );
});

test('an artifact that its worker publishes again with another description only has that one here, also with a large file', async (t) => {
  const seen = Promise.withResolvers<void>();
  const file: ArtifactPart = { kind: 'file', base64: LARGE, name: 'a.bin', mediaType: 'application/x-a' };
  const { orchestrator } = await relayFleet(t, {
    neo: {
      script: adding(async ({ add }) => {
        await add(chunk('a', 0, file, { description: 'a draft', isLast: true }));
        await seen.promise;
        await add(chunk('a', 1, file, { description: 'the final file', replaces: true, isLast: true }));
      }),
    },
  });
  const id = await orchestrator.send(dispatching());
  await orchestrator.event(id, 'artifact');
  seen.resolve();
  await orchestrator.result(id);
  assert.deepEqual(
    orchestrator.ledger.artifacts(id).map(({ description, replaces }) => [description, replaces ?? false]),
    [
      ['a draft', false],
      ['the final file', true],
    ],
  );
  assert.deepEqual(partsOf(orchestrator, id, 'a'), [file]);
});

test('what exceeds the limits here is left out with one alert, and the task goes on', async (t) => {
  const { orchestrator } = await relayFleet(
    t,
    {
      neo: {
        script: adding(async ({ add }) => {
          await add(chunk('inline', 0, { kind: 'file', base64: Buffer.alloc(1_001).toString('base64') }));
          await add(chunk('referenced', 0, { kind: 'file', base64: LARGE }));
          await add(chunk('small', 0, text('fits')));
        }),
      },
    },
    { fleet: { limits: { max_artifact_bytes: 1_000 } } },
  );
  const id = await orchestrator.send(dispatching());
  assert.equal((await orchestrator.result(id)).status, 'done');
  assert.deepEqual(
    orchestrator.ledger.artifacts(id).map(({ id: name }) => name),
    ['small'],
  );
  const alerts = orchestrator.ledger.events(id).filter(({ type }) => type === 'alert');
  assert.deepEqual(
    alerts.map(({ data }) => data),
    [{ reason: 'artifact_refused', peer: 'neo', error: 'artifact_too_large' }],
  );
});

test('of very many chunks, the first thousand are stored as they come, and the rest when the artifact is complete', async () => {
  const stored: ArtifactChunk[] = [];
  const artifacts: TaskArtifacts = {
    maxBytes: 1e6,
    findArtifact: () => stored,
    add: async (added) => stored.push(added) > 0,
  };
  const unused = async () => assert.fail('nothing is fetched or reported');
  const pass = createPassArtifacts({
    context: { artifacts, reportEvent: unused, signal: new AbortController().signal },
    client: { file: unused },
    endpoint: { name: 'neo', url: 'http://127.0.0.1:1/jsonrpc', token: undefined },
    isMember: true,
    traceparent: undefined,
    clock: systemClock,
    random: () => 0,
    peerDownAfterMs: 1_000,
    deadlineAt: Date.now() + 60_000,
    log: silentLog,
  });
  const words = Array.from({ length: 1_100 }, (_, n) => `${n} `);
  const show = (count: number, isComplete: boolean) =>
    pass({
      terminal: false,
      artifacts: [
        { id: 'words', isComplete, parts: [{ kind: 'text', text: words.slice(0, count).join('') }] },
      ],
    });
  for (const index of words.keys()) await show(index + 1, false);
  assert.equal(stored.length, 1_000);
  await show(words.length, true);
  assert.deepEqual([stored.length, stored.at(-1)?.isLast], [1_001, true]);
  const texts = stored.flatMap(({ parts }) => parts.map((part) => (part.kind === 'text' ? part.text : '?')));
  assert.equal(texts.join(''), words.join(''));
});

test('what a peer has beyond ours is found whatever the cuts of its texts', () => {
  const words = (value: string, mediaType?: string): Content => ({
    kind: 'text',
    text: value,
    ...(mediaType === undefined ? {} : { mediaType }),
  });
  const data = (value: unknown): Content => ({ kind: 'data', data: value });
  const file = (digest: string, more: { name?: string; mediaType?: string } = {}): Content => ({
    kind: 'file',
    digest,
    ...more,
  });
  const link = (url: string): Content => ({ kind: 'link', url });
  const rows: [name: string, ours: Content[], theirs: Content[], wanted: Content[] | undefined][] = [
    ['nothing of ours', [], [file('x')], [file('x')]],
    ['all', [words('ab')], [words('a'), words('b')], []],
    ['all, in our cuts', [words('a'), words('b')], [words('ab')], []],
    ['more text', [words('ab')], [words('abc')], [words('c')]],
    ['more text in a part of its own', [words('a')], [words('a'), words('b')], [words('b')]],
    [
      'more text, cut inside',
      [words('abc')],
      [words('ab'), words('cd'), words('e')],
      [words('d'), words('e')],
    ],
    ['a part after the text', [words('ab')], [words('ab'), file('x')], [file('x')]],
    ['no text', [words('ab')], [words('ab'), words('')], []],
    ['another text', [words('ab')], [words('xb')], undefined],
    ['less', [words('ab')], [], undefined],
    ['less text', [words('ab')], [words('a')], undefined],
    ['less text before a part', [words('ab'), data(1)], [words('a'), data(1)], undefined],
    ['longer text before another part', [words('ab'), data(1)], [words('abc'), data(1)], undefined],
    ['a text of another type', [words('a', 'text/csv')], [words('a', 'text/plain')], undefined],
    ['more of another type', [words('a')], [words('a'), words('b', 'text/csv')], [words('b', 'text/csv')]],
    ['other data', [data({ a: 1 })], [data({ a: 2 })], undefined],
    ['another file', [file('x')], [file('y')], undefined],
    ['another name of a file', [file('x', { name: 'a' })], [file('x', { name: 'b' })], undefined],
    [
      'another type of a file',
      [file('x', { mediaType: 'a/a' })],
      [file('x', { mediaType: 'a/b' })],
      undefined,
    ],
    ['another link', [link('u')], [link('v')], undefined],
    ['the same link', [link('u')], [link('u'), link('v')], [link('v')]],
  ];
  for (const [name, ours, theirs, wanted] of rows)
    assert.deepEqual(beyond(merged(ours), theirs), wanted, name);
});
