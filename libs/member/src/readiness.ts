import type { OutboxPublisher } from '@hermes-fleet/events';
import type { Readiness } from '@hermes-fleet/service';

export type DependencyState = Readiness['dependencies'][string];

/** A store that a member can promise nothing without: down for the reason that its `problem()` gives. */
export const storeState = (problem: string | undefined): DependencyState =>
  problem === undefined ? { state: 'ok' } : { state: 'down', detail: problem };

/** A broker that is away degrades a member: what it has to say waits (design 5, Containers). */
export function busState({ connected, lastError }: ReturnType<OutboxPublisher['state']>): DependencyState {
  if (connected) return { state: 'ok' };
  return { state: 'degraded', detail: lastError ?? 'not connected yet: events wait in the outbox' };
}

/** Ready unless something is down. */
export function readinessFrom(dependencies: Readiness['dependencies']): Readiness {
  return { ready: Object.values(dependencies).every(({ state }) => state !== 'down'), dependencies };
}
