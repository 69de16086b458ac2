import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ConfiguredPeer, JoinPolicy } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { createPeerRegistry } from '../src/registry/peer-registry.ts';
import { NOW } from './index.ts';

export const JOIN: JoinPolicy = {
  callers: {
    tank: { joins: true, speaksFor: ['worker-*'] },
    dozer: { joins: true, speaksFor: ['worker-*'] },
  },
  endpoints: ['http://127.0.0.1:*'],
  token: 'for-workers-that-joined',
  own: ['http://127.0.0.1:9219/jsonrpc'],
};
export const AT = 'http://127.0.0.1:9230/jsonrpc';
export const joining = (caller = 'tank') => ({ name: caller, scopes: new Set(['announce', 'join']) });
export const plain = (name: string) => ({ name, scopes: new Set(['announce']) });

export function testRegistry(t: TestContext) {
  let ledger: ReturnType<typeof openLedger>;
  const dir = tempDir(t, { closeFirst: () => ledger.close() });
  const clock = manualClock(NOW);
  const open = () =>
    openLedger({ file: join(dir, 'l.db'), profile: 'switch', clock, ids: systemIds, log: silentLog });
  ledger = open();
  const configured: Record<string, ConfiguredPeer> = {
    neo: { url: 'http://127.0.0.1:9220/jsonrpc', token: 'x' },
  };
  const make = (join = JOIN, others = configured) =>
    createPeerRegistry({ ledger, configured: others, join, clock, log: silentLog, self: 'switch' });
  const peers = make();
  let wakes = 0;
  peers.onChange(() => {
    wakes += 1;
  });
  return {
    clock,
    peers,
    ledger,
    /** The number of wake-ups since the last call. */
    woken() {
      const count = wakes;
      wakes = 0;
      return count;
    },
    async restart(join = JOIN, others = configured) {
      await ledger.close();
      ledger = open();
      return make(join, others);
    },
  };
}
