import type { FleetConfig } from '@hermes-fleet/fleet-config';
import type { PeerProfile, PeerRegistry } from '@hermes-fleet/peers';
import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { announceView, undecodedView } from '@hermes-fleet/protocol/handshake';
import type { Caller, Clock } from '@hermes-fleet/protocol/ports';
import { leftOf, type Spending } from '@hermes-fleet/tasks';
import { stateOf } from './peer-view.ts';

const MAX_PEERS = 50;
const MAX_TEXT = 300;

export interface CallerViewOptions {
  readonly peers: Pick<PeerRegistry, 'list'>;
  readonly gateway: { readonly spending: Pick<Spending, 'view'> };
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: FleetConfig['fleet']['limits'];
  /** The maximum request body. */
  readonly bodyLimitBytes: number;
}

/**
 * What a caller's extended card says beside its scopes (docs/a2a.md#the-extended-card): the limits that hold for it and,
 * with the scope `read`, its ceiling on spending and the peers. No address of a peer is shown.
 */
export function callerView(caller: Caller, options: CallerViewOptions): JsonObject {
  const { limits, bodyLimitBytes } = options;
  const forAll = {
    body_bytes: bodyLimitBytes,
    streams: limits.max_streams_per_caller,
    concurrent_tasks: limits.max_concurrent_tasks,
    queue_depth: limits.queue_depth,
  };
  if (!caller.scopes.has('read')) return { limits: forAll };
  const { taskTree, callers } = options.gateway.spending.view();
  const own = callers.get(caller.name);
  const spending = {
    tokens_per_task_tree: taskTree ?? null,
    tokens_per_day: own?.limit ?? null,
    tokens_left_today: (own && leftOf(own)) ?? null,
  };
  const now = options.clock.now();
  const peers = options.peers.list();
  return {
    limits: { ...forAll, ...spending },
    peers: peers.slice(0, MAX_PEERS).map((peer) => peerLine(peer, now)),
    peers_not_shown: Math.max(0, peers.length - MAX_PEERS),
  };
}

function peerLine(peer: PeerProfile, now: number): JsonValue {
  const { name, announce } = peer;
  const seen = announce ? announceView('caller', announce) : undecodedView('caller', undefined);
  const purpose = typeof seen.purpose === 'string' ? seen.purpose.slice(0, MAX_TEXT) : null;
  return { name, state: stateOf(peer, now), ...seen, purpose };
}
