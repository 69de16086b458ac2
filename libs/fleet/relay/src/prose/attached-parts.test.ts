import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { MessagePart } from '@hermes-fleet/protocol/ports';
import { delegation, play, said } from '../../testing/prose-script.ts';
import { scriptedPeer } from '../../testing/scripted-peer.ts';
import { delegateProse } from './delegate-prose.ts';

const LEGACY_ANSWER = {
  kind: 'message',
  messageId: 'a',
  role: 'agent',
  parts: [{ kind: 'text', text: 'Read.' }],
};

function sentParts([call]: readonly { readonly params: JsonObject }[]): JsonValue | undefined {
  const message = call?.params.message;
  return isJsonObject(message) ? message.parts : undefined;
}

it('a task at a prose peer takes its data and files along, in the form of its A2A version', async (t) => {
  const parts: MessagePart[] = [
    { index: 1, kind: 'data', data: { order: 7 } },
    { index: 2, kind: 'file', bytes: 'aGk=', filename: 'hi.txt', mediaType: 'text/plain' },
    { index: 3, kind: 'file', url: 'https://files.example/x' },
  ];
  const { calls } = await play(t, [['SendMessage', said('Read.')]], { parts });
  const text = { text: delegation.payload.text, mediaType: 'text/plain' };
  assert.deepEqual(sentParts(calls), [
    text,
    { data: { order: 7 } },
    { raw: 'aGk=', filename: 'hi.txt', mediaType: 'text/plain' },
    { url: 'https://files.example/x' },
  ]);
  const old = await scriptedPeer(t, [['message/send', { result: LEGACY_ANSWER }]]);
  await delegateProse(
    { ...old.options, parts, endpoint: { ...old.options.endpoint, version: '0.3' } },
    delegation,
  );
  assert.deepEqual(sentParts(old.calls), [
    { kind: 'text', text: delegation.payload.text },
    { kind: 'data', data: { order: 7 } },
    { kind: 'file', file: { bytes: 'aGk=', name: 'hi.txt', mimeType: 'text/plain' } },
    { kind: 'file', file: { uri: 'https://files.example/x' } },
  ]);
});
