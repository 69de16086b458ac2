import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredChunk } from '@hermes-fleet/ledger';
import { chunkArtifact, ownArtifacts } from './artifact-view.ts';

const urlOf = (): string => 'http://127.0.0.1/artifacts/t/1/0';

const chunk = (seq: number, more: Partial<StoredChunk>): StoredChunk => ({
  id: 'a',
  seq,
  place: seq,
  parts: [{ kind: 'text', text: `${seq}` }],
  isLast: true,
  ...more,
});

test('an artifact has the name and description of its first chunk that has them', () => {
  const [artifact] = ownArtifacts(
    [chunk(0, { name: 'n' }), chunk(1, { name: 'm', description: 'd' })],
    urlOf,
  );
  assert.deepEqual([artifact?.name, artifact?.description], ['n', 'd']);
});

test('an artifact that was replaced looks as the chunk that replaced it, also without a description', () => {
  const first = chunk(0, { name: 'n', description: 'old', parts: [] });
  const other = chunk(1, { id: 'b' });
  for (const description of ['new', undefined]) {
    const last = chunk(2, { name: 'm', replaces: true, ...(description && { description }) });
    const artifacts = ownArtifacts([first, other, last], urlOf);
    assert.deepEqual(artifacts, [chunkArtifact(last, urlOf), chunkArtifact(other, urlOf)]);
  }
});
