import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { ASKED, openDeletions } from '../../testing/open-deletions.ts';
import type { AgentContexts } from './context-deletions.ts';

const DAY_MS = 86_400_000;

test(
  'a start takes eight steps at a time, and a new request does not wait behind it',
  deadline,
  async (t) => {
    const waiting: (() => void)[] = [];
    const begun: string[] = [];
    let onBegun: () => void = () => undefined;
    const contexts: AgentContexts = {
      remove: async (contextId) => {
        begun.push(contextId);
        onBegun();
        await new Promise<void>((go) => waiting.push(go));
        return { files: false, result: 'none' };
      },
    };
    const until = (count: number): Promise<void> =>
      new Promise((resolve) => {
        onBegun = () => void (begun.length >= count && resolve());
        onBegun();
      });
    const { deletions, ledger, clock, work, complete } = await openDeletions(t, { contexts });
    const ids = Array.from({ length: 20 }, (_, at) => `c-${at + 10}`);
    for (const contextId of ids) {
      await work(contextId, contextId);
      await ledger.contexts.delete({ ...ASKED, contextId });
    }
    deletions.start();
    await until(8);
    const asked = deletions.delete(ASKED);
    await clock.armed(8_000);
    const atOnce: number[] = [];
    for (let ended = 1; ended <= 21; ended += 1) {
      atOnce.push(waiting.length);
      waiting.shift()?.();
      await until(Math.min(8 + ended, 21));
    }
    assert.equal((await asked).removed?.result, 'none');
    await complete;
    assert.equal(Math.max(...atOnce), 8);
    assert.equal(begun[8], 'c');
    assert.deepEqual(begun.toSorted(), ['c', ...ids]);
  },
);

test(
  'a peer that cannot be asked for a reason here is dropped after the retention too',
  deadline,
  async (t) => {
    const findPeer = (): never => {
      throw new Error('a defect');
    };
    const { deletions, ledger, clock, log, complete } = await openDeletions(t, { sentTo: ['neo'], findPeer });
    const { peers } = await deletions.delete(ASKED);
    assert.deepEqual(
      peers.map(({ state, detail }) => [state, detail]),
      [['pending', 'neo could not be asked: the reason is in the log here']],
    );
    clock.advance(30 * DAY_MS);
    await clock.armed(1_000);
    assert.equal(ledger.contexts.deletions().length, 1);
    clock.advance(1_000);
    await complete;
    assert.deepEqual(ledger.contexts.deletions(), []);
    assert.ok(log.entries.some(({ message }) => /never deleted at a peer/.test(message)));
  },
);
