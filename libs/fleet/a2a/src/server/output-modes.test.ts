import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Artifact, type StreamResponse } from '@a2a-js/sdk';
import { acceptableUpdate, readOutputModes } from './output-modes.ts';

function chunk(mediaType: string, append: boolean): StreamResponse {
  const artifact = Artifact.fromJSON({ artifactId: 'a', parts: [{ text: 'x', mediaType }] });
  const value = { taskId: 't', contextId: 'c', artifact, append, lastChunk: false, metadata: undefined };
  return { payload: { $case: 'artifactUpdate', value } };
}

test('the first chunk that a client accepts appends to nothing, if all before it was left out', () => {
  const modes = readOutputModes(
    ['text/plain'],
    () => ['text/plain'],
    () => false,
  );
  const shown = [
    chunk('image/png', false),
    chunk('text/plain', true),
    chunk('image/png', true),
    chunk('text/plain', true),
    chunk('text/plain', false),
  ].map((update) => {
    const payload = acceptableUpdate(update, modes)?.payload;
    return payload?.$case === 'artifactUpdate' ? payload.value.append : undefined;
  });
  assert.deepEqual(shown, [undefined, false, undefined, true, false]);
});

test('a mode that no media type has is refused, also if all objects have a member of its name', () => {
  for (const mode of ['constructor', 'toString', '__proto__']) {
    const read = () =>
      readOutputModes(
        [mode],
        () => ['text/plain'],
        () => false,
      );
    assert.throws(read, { code: 'CONTENT_TYPE_NOT_SUPPORTED' }, mode);
  }
});
