import type { PublisherState } from '@hermes-fleet/events';
import type { Readiness } from '@hermes-fleet/service';

export type DependencyState = Readiness['dependencies'][string];

/** The state of a store that the member cannot work without; `problem` is the reason that it is down. */
export const storeState = (problem: string | undefined): DependencyState =>
  problem === undefined ? { state: 'ok' } : { state: 'down', detail: problem };

/**
 * A disconnected broker degrades a member but keeps it ready: events wait in the outbox (docs/events.md). So does a stream
 * that lost events.
 */
export function busState({ connected, lastError, missing = 0 }: PublisherState): DependencyState {
  if (connected && missing > 0)
    return {
      state: 'degraded',
      detail: `the stream lacks ${missing} events that it had acknowledged: fleet nats refill publishes them again`,
    };
  if (connected) return { state: 'ok' };
  return { state: 'degraded', detail: lastError ?? 'not connected yet: events wait in the outbox' };
}

/** Ready unless a dependency is down. */
export function readinessFrom(dependencies: Readiness['dependencies']): Readiness {
  return { ready: Object.values(dependencies).every(({ state }) => state !== 'down'), dependencies };
}
