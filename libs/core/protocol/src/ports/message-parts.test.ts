import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dispatchFingerprint } from '../wire/fingerprint.ts';
import type { JsonObject } from '../wire/json.ts';
import { attachments, contentParts, encodePart } from './message-parts.ts';

const DISPATCH: JsonObject = { type: 'TASK_DISPATCH', protocol_version: '2.0', brief: 'do it' };
const OURS = 'application/vnd.hermes.handshake+json';

describe('the parts of a stored message', () => {
  it('come in the order of the message, with their positions', () => {
    const parts: JsonObject[] = [
      { text: 'look', mediaType: 'text/plain' },
      { data: { a: 1 }, metadata: { from: 'form' } },
      { data: DISPATCH, mediaType: OURS },
      { raw: 'aGk=', filename: 'hi.txt', media_type: 'text/plain' },
      { url: 'https://files.example/x.pdf', filename: '', mediaType: null },
    ];
    assert.deepEqual(contentParts({ parts }), [
      { index: 0, kind: 'text', text: 'look', mediaType: 'text/plain' },
      { index: 1, kind: 'data', data: { a: 1 }, metadata: { from: 'form' } },
      { index: 3, kind: 'file', bytes: 'aGk=', filename: 'hi.txt', mediaType: 'text/plain' },
      { index: 4, kind: 'file', url: 'https://files.example/x.pdf' },
    ]);
    assert.deepEqual(
      attachments({ parts }).map(({ index }) => index),
      [1, 3, 4],
    );
  });

  it('include no handshake message, as data or as text, but what only resembles one', () => {
    const parts: JsonObject[] = [
      { data: DISPATCH },
      { data: DISPATCH, mediaType: 'Application/JSON; charset=utf-8' },
      { text: ` ${JSON.stringify(DISPATCH)}\n` },
      { data: DISPATCH, mediaType: 'application/x-other+json' },
      { data: { type: 'ORDER' } },
      { text: '{not json}' },
    ];
    assert.deepEqual(
      contentParts({ parts }).map(({ index }) => index),
      [3, 4, 5],
    );
  });

  it('are none in a message without a list of parts, and skip what is no part', () => {
    assert.deepEqual(contentParts({ messageId: 'm' }), []);
    assert.deepEqual(contentParts({ parts: [7, null, {}, { data: null }] }), []);
  });

  it('are encoded as they were read', () => {
    const parts: JsonObject[] = [
      { text: 'look', mediaType: 'text/plain' },
      { data: [1, 2], metadata: { from: 'form' } },
      { raw: '', filename: 'empty' },
      { url: 'https://files.example/x', mediaType: 'image/png' },
    ];
    assert.deepEqual(contentParts({ parts }).map(encodePart), parts);
  });
});

describe('the fingerprint of a dispatch', () => {
  it('covers what came with it, and stays as it was without any', () => {
    const bare = dispatchFingerprint(DISPATCH);
    assert.equal(dispatchFingerprint(DISPATCH, []), bare);
    const one = dispatchFingerprint(DISPATCH, [{ data: { a: 1 } }]);
    const other = dispatchFingerprint(DISPATCH, [{ data: { a: 2 } }]);
    assert.equal(new Set([bare, one, other]).size, 3);
    assert.equal(dispatchFingerprint(DISPATCH, [{ data: { a: 1 } }]), one);
  });
});
