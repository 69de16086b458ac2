import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { boundText, contentText, MAX_CONTENT_BYTES } from './content.ts';

describe('contentText', () => {
  it('replaces content other than text by its type and size', () => {
    const text = contentText({
      content: [
        { type: 'audio', data: 'AAA=', mimeType: 'audio/wav' },
        { type: 'resource_link', name: 'log', uri: 'file:///log' },
        { type: 'resource', resource: { uri: 'file:///bin', blob: 'AAAA' } },
      ],
    });
    assert.equal(
      text,
      '[audio: audio/wav, 2 bytes]\n[resource link: log, file:///log]\n[resource: file:///bin, 3 bytes]',
    );
  });

  it('takes linear time for any content', { timeout: 20_000 }, () => {
    const data = `${'='.repeat(1_000_000)}x`;
    assert.match(contentText({ content: [{ type: 'image', data, mimeType: 'image/png' }] }), /bytes\]$/);
  });

  it('shows structured content when there is no other', () => {
    assert.equal(contentText({ content: [], structuredContent: { a: 1 } }), '{"a":1}');
    assert.equal(contentText({ content: [{ type: 'text', text: 'a' }], structuredContent: { a: 1 } }), 'a');
    assert.equal(contentText({ content: [] }), '');
  });
});

describe('boundText', () => {
  it('keeps any text within 64 kB, and never splits a character', () => {
    const unit = fc.constantFrom('a', 'ü', '漢', '🚀', '\n');
    fc.assert(
      fc.property(fc.string({ unit, minLength: 1, maxLength: 50 }), fc.nat(5000), (piece, times) => {
        const text = piece.repeat(times);
        const bound = boundText(text);
        assert.ok(Buffer.byteLength(bound) <= MAX_CONTENT_BYTES);
        assert.ok(!bound.includes('�'));
        if (Buffer.byteLength(text) <= MAX_CONTENT_BYTES) assert.equal(bound, text);
        else assert.match(bound, /\n\[\d+ bytes left out\]\n/);
      }),
      { numRuns: 50 },
    );
  });
});
