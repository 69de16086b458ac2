import type { TaskDispatch } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import type { PeerProfile } from '../peer-profile.ts';
import { takesTasks } from './eligibility.ts';

/**
 * The tokens of a brief, for routing by context window; 0 for one that fits the smallest window whatever its tokens
 * are, so that the tokenizer is loaded only for a close call.
 */
export async function measureBrief(dispatch: TaskDispatch, peers: readonly PeerProfile[]): Promise<number> {
  const bytes = Buffer.byteLength(dispatch.brief);
  const fits = peers.every(
    ({ announce }) => !announce || !takesTasks(announce) || bytes <= announce.worker.contextWindow,
  );
  return fits ? 0 : countTokens(dispatch.brief);
}
