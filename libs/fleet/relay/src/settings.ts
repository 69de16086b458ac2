import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { type RoutingPolicy, routingPolicy } from '@hermes-fleet/peers';
import type { OnBlocked } from '@hermes-fleet/protocol/handshake';

/** The settings of fleet.yaml for relayed tasks (docs/configuration.md#fleetyaml). */
export interface RelaySettings {
  readonly policy: RoutingPolicy;
  readonly onBlocked: OnBlocked;
  /** How many peers may refuse one task, unless its dispatch says otherwise. */
  readonly maxAttempts: number;
  /** How long a peer that has a task may be unreachable, ms. */
  readonly peerDownAfterMs: number;
  /** How long a task waits for the peer that has its context, ms. */
  readonly patienceMs: number;
  /** How long a task without a deadline may wait while no peer could take it, ms. */
  readonly maxWaitMs: number;
}

export function relaySettings(config: FleetConfig, self: string, versions: readonly string[]): RelaySettings {
  const { routing, queue } = config.fleet;
  return {
    policy: routingPolicy(config, self, versions),
    onBlocked: routing.on_blocked,
    maxAttempts: routing.max_attempts,
    peerDownAfterMs: routing.peer_down_after_s * 1000,
    patienceMs: routing.patience_s * 1000,
    maxWaitMs: queue.max_wait_s * 1000,
  };
}
