import type { TaskDispatch } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import type { PeerProfile } from '../peers/profile.ts';
import type { RoutingPolicy } from './policy.ts';
import { type RoutingDecision, route } from './route.ts';

/** `route`, with the brief measured against the peers' context windows; the tokenizer is loaded only for a close call. */
export async function routeTask(
  dispatch: TaskDispatch,
  peers: readonly PeerProfile[],
  policy: RoutingPolicy,
  now: number,
): Promise<RoutingDecision> {
  const smallest = Math.min(
    ...peers.flatMap(({ announce }) => (announce ? [announce.worker.contextWindow] : [])),
  );
  const briefTokens = Buffer.byteLength(dispatch.brief) <= smallest ? 0 : await countTokens(dispatch.brief);
  return route(dispatch, peers, { ...policy, briefTokens }, now);
}
