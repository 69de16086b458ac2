import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type LedgerContexts, openLedger } from '@hermes-fleet/ledger';
import type { PeerProfile } from '@hermes-fleet/peers';
import { NOW } from '@hermes-fleet/peers/testing';
import type { FleetError } from '@hermes-fleet/protocol';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, recordingLog, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import type { AgentContexts } from '../src/contexts/context-deletions.ts';
import { createContextDeletions } from '../src/contexts/context-deletions.ts';
import { watchedDeletions } from './folder-contexts.ts';

export const ASKED = { contextId: 'c', caller: 'operator', results: 'keep' } as const;

/** The deletions of a ledger with an ended task that was sent to the peers named. */
export async function openDeletions(
  t: TestContext,
  o: {
    sentTo?: readonly string[];
    peers?: readonly PeerProfile[];
    contexts?: AgentContexts;
    /** Replaces parts of the ledger that the deletions get. */
    ledger?: (real: LedgerContexts) => Partial<LedgerContexts>;
    findPeer?: () => never;
  } = {},
) {
  const clock = manualClock(NOW);
  const dir = tempDir(t, { closeFirst: () => ledger.close() });
  const file = join(dir, 'ledger.db');
  const open = () => openLedger({ file, profile: 'switch', clock, ids: systemIds, log: silentLog });
  const ledger = open();
  /** An ended task of a context. */
  const work = async (contextId: string, key: string): Promise<void> => {
    const dispatch = { task: { task_id: key } };
    const id = `task of ${key}`;
    await ledger.accept({ id, contextId, caller: 'operator', key, fingerprint: 'f', message: {}, dispatch });
    for (const peer of o.sentTo ?? []) await ledger.append(id, { type: 'delegated', data: { peer } });
    await ledger.append(id, { type: 'done', data: {} });
  };
  await work('c', 'k');
  const log = recordingLog();
  const watched = watchedDeletions();
  const state: { closed: FleetError | undefined } = { closed: undefined };
  const deletions = createContextDeletions({
    profile: 'switch',
    ledger: watched.wrap({ ...ledger, contexts: { ...ledger.contexts, ...o.ledger?.(ledger.contexts) } }),
    agentContexts: o.contexts,
    client: { fetch },
    closed: () => state.closed,
    peers: { get: o.findPeer ?? ((name) => o.peers?.find((peer) => peer.name === name)) },
    clock,
    log,
    random: () => 0,
    keepAskingDays: 30,
  });
  t.after(() => deletions.stop());
  return { file, work, clock, ledger, deletions, log, state, complete: watched.complete };
}
