import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { PeerProfile } from '../peer-profile.ts';
import { takesTasks } from './eligibility.ts';

/**
 * Counts the tokens of a brief for routing by context window. Returns 0 if the brief fits the smallest window in any
 * case, so that the tokenizer is loaded only when needed.
 */
export async function measureBrief(dispatch: TaskDispatch, peers: readonly PeerProfile[]): Promise<number> {
  const bytes = Buffer.byteLength(dispatch.brief);
  const fits = peers.every(
    ({ announce }) => !announce || !takesTasks(announce) || bytes <= announce.worker.contextWindow,
  );
  return fits ? 0 : countTokens(dispatch.brief);
}
