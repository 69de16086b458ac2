import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError, HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { cardOf } from '../../testing/index.ts';
import { declaredHandshake, readCard } from './agent-card.ts';

describe('an agent card', () => {
  const table: [
    extension: string | undefined,
    versions: string[] | undefined,
    handshake: boolean,
    said: string[],
  ][] = [
    [undefined, undefined, false, []],
    ['https://example.com/other', ['2.0'], false, []],
    [HANDSHAKE_EXTENSION, ['2.0', '2.1'], true, ['2.0', '2.1']],
    [HANDSHAKE_EXTENSION, undefined, true, []],
    [HANDSHAKE_EXTENSION, ['two', '2.0', '2.0'], true, ['2.0']],
    ['urn:hermes-fleet:handshake:3', undefined, true, ['3.0']],
    ['urn:hermes-fleet:handshake:3', ['3.1'], true, ['3.1']],
    ['urn:hermes-fleet:handshake:x', ['2.0'], false, []],
    ['urn:hermes-fleet:handshake:', ['2.0'], false, []],
  ];
  for (const [extension, listed, handshake, versions] of table)
    it(`with ${extension ?? 'no extension'} and ${listed ?? 'no versions'}`, () =>
      assert.deepEqual(declaredHandshake(cardOf(extension, listed)), { handshake, versions }));

  it('with too many versions is truncated', () => {
    const listed = Array.from({ length: 100_000 }, (_, minor) => `2.${minor}`);
    assert.equal(declaredHandshake(cardOf(HANDSHAKE_EXTENSION, listed)).versions.length, 64);
    assert.deepEqual(declaredHandshake(cardOf(HANDSHAKE_EXTENSION, [`${'9'.repeat(1_000)}.0`])).versions, []);
  });

  it('is undefined for an invalid answer, and an error for an unreachable or busy peer', async () => {
    const fails = (code: 'PEER_REFUSED' | 'PEER_UNREACHABLE', retryable?: boolean) => ({
      card: () => Promise.reject(new FleetError(code, 'no', retryable === undefined ? {} : { retryable })),
    });
    const o = { timeoutMs: 1, signal: new AbortController().signal };
    assert.equal(await readCard(fails('PEER_REFUSED'), 'http://x', o), undefined);
    await assert.rejects(readCard(fails('PEER_UNREACHABLE'), 'http://x', o), { code: 'PEER_UNREACHABLE' });
    await assert.rejects(readCard(fails('PEER_REFUSED', true), 'http://x', o), { code: 'PEER_REFUSED' });
  });
});
