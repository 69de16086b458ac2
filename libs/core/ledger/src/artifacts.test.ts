import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import {
  type ArtifactChunk,
  type ArtifactPart,
  MAX_ARTIFACT_CHUNKS,
  MAX_ARTIFACT_PARTS,
  MAX_ARTIFACTS,
} from '@hermes-fleet/protocol/ports';
import { hasCode, START } from '@hermes-fleet/protocol/testing';
import { collect, never, newTask, openTestLedger } from '../testing/harness.ts';
import type { Ledger } from './types.ts';

const LIMITS = { artifactBytes: 3 * 2 ** 20, taskBytes: 5 * 2 ** 20 };
const KIB = 1024;

const text = (
  id: string,
  place: number,
  value: string,
  more: Partial<ArtifactChunk> = {},
): ArtifactChunk => ({
  id,
  place,
  parts: [{ kind: 'text', text: value }],
  isLast: false,
  ...more,
});

const file = (id: string, bytes: number, place = 0): ArtifactChunk => ({
  id,
  place,
  parts: [{ kind: 'file', base64: Buffer.alloc(bytes, 'x').toString('base64') }],
  isLast: false,
});

async function setUp(t: TestContext) {
  const opened = openTestLedger(t);
  const { id } = (await opened.ledger.accept(newTask())).task;
  return { ...opened, id };
}

test('a chunk is stored with its event, which has its name, media type and size, and no content', async (t) => {
  const { ledger, id, reopen } = await setUp(t);
  const chunk: ArtifactChunk = {
    id: 'a',
    place: 0,
    name: 'report.md',
    description: 'what was found',
    parts: [
      { kind: 'text', text: 'größe', mediaType: 'text/markdown' },
      { kind: 'data', data: { n: [1, null] } },
      { kind: 'file', base64: 'aGFsbG8=', name: 'x.bin', mediaType: 'application/x-y' },
      { kind: 'link', url: 'https://example.org/x', name: 'x', mediaType: 'image/png' },
    ],
    isLast: true,
  };
  const event = await ledger.addArtifact(id, chunk, LIMITS);
  assert.deepEqual(event?.data, {
    artifact_id: 'a',
    chunk: 0,
    bytes: 7 + 14 + 5 + 21,
    last: true,
    name: 'report.md',
    media_type: 'text/markdown',
  });
  const stored = [{ ...chunk, replaces: false, seq: event?.seq }];
  assert.deepEqual(ledger.artifacts(id), stored);
  assert.deepEqual(ledger.artifactAt(event), stored[0]);
  const again = await reopen();
  assert.deepEqual(again.artifacts(id), stored);
  assert.deepEqual(again.outbox.read(0, 10).at(-1)?.event.data, {
    task_id: again.get(id)?.key,
    caller: 'switch',
    context_id: 'context-1',
    root_id: again.get(id)?.key,
    root_caller: 'switch',
    ...event?.data,
  });
});

test('a place that is taken is not stored again, and none may be left out', async (t) => {
  const { ledger, id, reopen } = await setUp(t);
  await ledger.addArtifact(id, text('a', 0, 'one'), LIMITS);
  await assert.rejects(
    ledger.addArtifact(id, text('a', 2, 'three'), LIMITS),
    hasCode('INTERNAL', /came before/),
  );
  const again = await reopen();
  assert.equal(await again.addArtifact(id, text('a', 0, 'other'), LIMITS), undefined);
  assert.ok(await again.addArtifact(id, text('a', 1, 'two', { isLast: true }), LIMITS));
  await assert.rejects(again.addArtifact(id, text('a', 2, 'more'), LIMITS), hasCode('INTERNAL', /complete/));
  assert.deepEqual(
    again.artifacts(id).map(({ parts }) => parts),
    [[{ kind: 'text', text: 'one' }], [{ kind: 'text', text: 'two' }]],
  );
  await again.append(id, { type: 'done', data: {} }, { result: { status: 'done' } });
  assert.equal(await again.addArtifact(id, text('b', 0, 'late'), LIMITS), undefined);
});

test('chunks of one batch follow each other', async (t) => {
  const { ledger, id } = await setUp(t);
  const added = await Promise.all(
    [0, 1, 1, 2].map((place) => ledger.addArtifact(id, text('a', place, 'x'), LIMITS)),
  );
  assert.deepEqual(
    added.map((event) => event?.data.chunk),
    [0, 1, undefined, 2],
  );
});

test('a chunk that replaces an artifact removes what it had, also from the sizes', async (t) => {
  const { ledger, id, file: path } = await setUp(t);
  await ledger.addArtifact(id, { ...file('a', 2 * 2 ** 20), isLast: true }, LIMITS);
  await ledger.addArtifact(id, { ...file('a', 2 * 2 ** 20, 1), replaces: true }, LIMITS);
  assert.deepEqual(
    ledger.artifacts(id).map(({ parts, replaces }) => [parts.length, replaces]),
    [
      [0, false],
      [1, true],
    ],
  );
  assert.equal(ledger.artifactPart({ taskId: id, seq: 2 }, 0), undefined);
  assert.equal(contentsIn(path), 1);
  assert.equal(ledger.wholeArtifact(id, 'a').flatMap(({ parts }) => parts).length, 1);
  await ledger.addArtifact(id, text('a', 2, 'of a before', { replaces: true }), LIMITS);
  assert.equal(ledger.inlineArtifactBytes(id), 11);
  await ledger.addArtifact(id, text('a', 3, 'new', { replaces: true }), LIMITS);
  assert.equal(ledger.inlineArtifactBytes(id), 3);
});

test('an artifact, a task, and the number of artifacts and chunks have limits that change nothing when they are exceeded', async (t) => {
  const { ledger, id } = await setUp(t);
  const tooLarge = (pattern: RegExp) => hasCode('ARTIFACT_TOO_LARGE', pattern);
  await assert.rejects(
    ledger.addArtifact(id, file('a', LIMITS.artifactBytes + 1), LIMITS),
    tooLarge(/max_artifact_bytes is 3145728/),
  );
  await ledger.addArtifact(id, file('a', LIMITS.artifactBytes - 1), LIMITS);
  await assert.rejects(ledger.addArtifact(id, text('a', 1, 'xx'), LIMITS), tooLarge(/max_artifact_bytes/));
  await assert.rejects(
    ledger.addArtifact(id, file('b', 2 * 2 ** 20 + 2), LIMITS),
    tooLarge(/max_task_artifact_bytes is 5242880/),
  );
  assert.equal(ledger.events(id).length, 2);
  for (let n = 1; n < MAX_ARTIFACTS; n += 1) await ledger.addArtifact(id, text(`n${n}`, 0, 'x'), LIMITS);
  await assert.rejects(
    ledger.addArtifact(id, text('more', 0, 'x'), LIMITS),
    tooLarge(/at most 100 artifacts/),
  );
  const left = MAX_ARTIFACT_CHUNKS - MAX_ARTIFACTS;
  const parts = Array<ArtifactPart>(MAX_ARTIFACT_PARTS - MAX_ARTIFACTS + 1).fill({ kind: 'data', data: 0 });
  await assert.rejects(
    ledger.addArtifact(id, { ...text('n1', 1, ''), parts }, LIMITS),
    tooLarge(/at most 4000 parts/),
  );
  await Promise.all(
    Array.from({ length: left }, (_, at) => ledger.addArtifact(id, text('n1', at + 1, 'x'), LIMITS)),
  );
  await assert.rejects(ledger.addArtifact(id, text('n1', left + 1, 'x'), LIMITS), tooLarge(/2000 chunks/));
});

test('a chunk that no task may have is refused with the field and what to do', async (t) => {
  const { ledger, id } = await setUp(t);
  const refused = async (chunk: Partial<ArtifactChunk>, path: string): Promise<void> => {
    const adding = ledger.addArtifact(id, { ...text('a', 0, 'x'), ...chunk }, LIMITS);
    await assert.rejects(adding, (error: { code: string; fields: { path: string }[] }) => {
      assert.deepEqual([error.code, error.fields[0]?.path], ['INVALID_PARAMS', path]);
      return true;
    });
  };
  await refused({ id: '' }, 'id');
  await refused({ id: 'task-result' }, 'id');
  await refused({ parts: [] }, 'parts');
  await refused({ name: 'n'.repeat(257) }, 'name');
  await refused({ parts: [{ kind: 'text', text: 'x', mediaType: 'm'.repeat(257) }] }, 'parts[0].mediaType');
  await refused({ parts: [{ kind: 'link', url: 'u'.repeat(4097) }] }, 'parts[0].url');
  assert.deepEqual(ledger.artifacts(id), []);
});

test('parts are inline up to 256 KiB each and 1 MiB per task; replies refer to the others', async (t) => {
  const { ledger, id } = await setUp(t);
  const isInline = (): boolean[] =>
    ledger.artifacts(id).flatMap(({ parts }) => parts.map(({ isReferenced }) => isReferenced !== true));
  await ledger.addArtifact(id, file('a', 256 * KIB + 1), LIMITS);
  for (const name of ['b', 'c', 'd']) await ledger.addArtifact(id, file(name, 256 * KIB), LIMITS);
  await ledger.addArtifact(id, text('e', 0, 'x'), LIMITS);
  await ledger.addArtifact(id, file('f', 256 * KIB), LIMITS);
  await ledger.addArtifact(id, { ...file('g', 256 * KIB - 1), isLast: true }, LIMITS);
  await ledger.addArtifact(id, text('h', 0, 'x'), LIMITS);
  assert.deepEqual(isInline(), [false, true, true, true, true, false, true, false]);
  assert.equal(ledger.inlineArtifactBytes(id), 1024 * KIB);
});

test('a part to which replies refer has its content apart, exactly as it was given', async (t) => {
  const { ledger, id, reopen } = await setUp(t);
  const long = `\ud800${'x'.repeat(256 * KIB)}`;
  const parts: readonly ArtifactPart[] = [
    { kind: 'text', text: long, mediaType: 'text/x' },
    { kind: 'data', data: { long } },
    { kind: 'file', base64: 'QQ==\n'.repeat(100 * KIB), name: 'n', mediaType: 'a/b' },
    { kind: 'text', text: 'short' },
  ];
  const event = await ledger.addArtifact(id, { ...text('a', 0, ''), name: 'n', parts }, LIMITS);
  const at = { taskId: id, seq: event?.seq ?? 0 };
  const again = await reopen();
  const shown = [
    { kind: 'text', mediaType: 'text/x', isReferenced: true },
    { kind: 'data', isReferenced: true },
    { kind: 'file', name: 'n', mediaType: 'a/b', isReferenced: true },
    { kind: 'text', text: 'short' },
  ];
  assert.deepEqual(again.artifactAt(at)?.parts, shown);
  assert.deepEqual(
    again.artifacts(id).map((chunk) => chunk.parts),
    [shown],
  );
  for (const [index, part] of [...parts, undefined].entries())
    assert.deepEqual(again.artifactPart(at, index), part);
  assert.equal(again.artifactPart({ ...at, seq: 1 }, 0), undefined);
  const whole = { id: 'a', place: 0, name: 'n', parts, replaces: false, isLast: false };
  assert.deepEqual([again.wholeArtifact(id, 'a'), again.wholeArtifact(id, 'b')], [[whole], []]);
});

test('a watcher sees chunks in order; retention and the deletion of the context remove them', async (t) => {
  const { ledger, id, file: path } = await setUp(t);
  const seen = collect(ledger.watch(id, 0, never));
  await ledger.addArtifact(id, file('a', 300 * KIB), LIMITS);
  await end(ledger, id);
  assert.deepEqual(await seen, ['submitted', 'artifact', 'done']);
  const other = (await ledger.accept(newTask({ contextId: 'context-2' }))).task.id;
  const added = await ledger.addArtifact(other, file('a', 300 * KIB), LIMITS);
  await end(ledger, other);
  await ledger.contexts.delete({
    contextId: 'context-2',
    caller: 'switch',
    results: 'keep',
  });
  assert.deepEqual(
    [ledger.artifacts(other), ledger.artifactAt({ taskId: other, seq: added?.seq ?? 0 })],
    [[], undefined],
  );
  assert.deepEqual([ledger.artifacts(id).length, contentsIn(path)], [1, 1]);
  await ledger.outbox.advance(ledger.outbox.read(0, 20).at(-1)?.seq ?? 0);
  assert.equal(await ledger.prune(START + 1, 10), 1);
  assert.deepEqual([ledger.artifacts(id), ledger.inlineArtifactBytes(id), contentsIn(path)], [[], 0, 0]);
});

/** How many contents a ledger's file has. */
function contentsIn(path: string): unknown {
  using db = new DatabaseSync(path, { readOnly: true });
  return db.prepare('SELECT count(*) AS n FROM artifact_contents').get()?.n;
}

async function end(ledger: Ledger, id: string): Promise<void> {
  await ledger.append(id, { type: 'done', data: {} }, { result: { status: 'done' } });
}
