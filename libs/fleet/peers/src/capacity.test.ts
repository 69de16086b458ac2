import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import { announceOf, NOW, peerOf } from '../testing/fakes.ts';
import { capacityOf } from './capacity.ts';
import { clockOffsetOf } from './peer-profile.ts';

describe('the capacity of a peer that announces only some of its limits', () => {
  const ROWS: [
    what: string,
    limits: SessionAnnounce['limits'],
    active: number,
    limit: number,
    load: number,
  ][] = [
    ['none', undefined, 1, 6, 1],
    ['an empty object', {}, 1, 6, 1],
    ['waiting tasks', { queuedTasks: 2 }, 1, 6, 3],
    ['slots', { maxConcurrentTasks: 3 }, 1, 3, 1],
    ['free slots', { freeSlots: 2 }, 1, 6, 4],
    ['slots and free slots', { maxConcurrentTasks: 3, freeSlots: 2 }, 3, 3, 1],
  ];
  for (const [what, limits, activeTasks, limit, load] of ROWS)
    it(what, () => {
      const { limits: _usual, ...announce } = announceOf('neo', { session: { activeTasks } });
      const peer = peerOf('neo', { announce: limits ? { ...announce, limits } : announce, maxTasks: 6 });
      const found = capacityOf(peer, NOW);
      assert.deepEqual([found.limit, found.load], [limit, load]);
    });
});

describe("a peer's clock", () => {
  const ROWS: [sentAt: string | undefined, offsetMs: number | undefined][] = [
    [undefined, undefined],
    [new Date(NOW).toISOString(), 0],
    [new Date(NOW - 5_000).toISOString(), -5_000],
    [new Date(NOW + 3_600_000).toISOString(), 3_600_000],
    [new Date(NOW + 86_400_001).toISOString(), undefined],
    ['9999-12-31T23:59:59Z', undefined],
  ];
  for (const [sentAt, offsetMs] of ROWS)
    it(`with sent_at ${sentAt} is ahead by ${offsetMs}`, () => {
      const announce = announceOf('neo', sentAt === undefined ? {} : { sentAt });
      assert.equal(clockOffsetOf(peerOf('neo', { announce })), offsetMs);
    });
  it('is unknown without an announce', () => assert.equal(clockOffsetOf(undefined), undefined));
});
