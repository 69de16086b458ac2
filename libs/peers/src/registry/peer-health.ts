import type { Clock } from '@hermes-fleet/protocol';
import type { PeerProfile } from '../peer-profile.ts';
import { createPeerLoad, type PeerLoad, type TaskAtPeer } from './peer-load.ts';

const OPENS_AFTER = 3;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
/** Weight of the newest observation in the exponential moving averages. */
const ALPHA = 0.3;

/** Health of a peer as this profile observed it: a circuit breaker and moving averages, in memory. */
export interface PeerHealth {
  /** The peer answered. Closes the circuit. */
  recordAnswer(): void;
  /**
   * The peer could not be reached. Three failures in a row open the circuit, for longer each time. Then the circuit is
   * half-open: the next task at the peer is the trial, and the circuit stays open for other tasks until the peer answers,
   * fails again, or the trial leaves.
   */
  recordFailure(): void;
  /** The peer accepted a dispatch after this time. */
  recordAccepted(latencyMs: number): void;
  /** The peer refused a dispatch. */
  recordRefused(): void;
  /**
   * A task ended at the peer. Three in a row that failed before they began open the circuit, for longer each time: the
   * peer answers, and can do no work.
   */
  recordEnded(failedAtOnce: boolean): void;
  /** Counts a task at the peer until the result is disposed. */
  trackTask(): TaskAtPeer;
  readonly load: PeerLoad;
  snapshot(): Pick<PeerProfile, 'circuitOpenUntil' | 'inFlight' | 'blockedRate' | 'latencyMs'>;
}

export function createPeerHealth(clock: Clock): PeerHealth {
  const load = createPeerLoad(clock);
  let failures = 0;
  let circuitOpenUntil = 0;
  let failedAtOnce = 0;
  let brokenUntil = 0;
  let trial: { readonly until: number } | undefined;
  let blockedRate = 0;
  let latencyMs = 0;

  const recordAnswer = (): void => {
    failures = 0;
    circuitOpenUntil = 0;
    trial = undefined;
  };
  /** True if the time is in the future. If it is further ahead than the longest pause, the clock was set back. */
  const isAhead = (until: number): boolean => clock.now() < until && until - clock.now() <= LONGEST_PAUSE_MS;
  const halfOpen = (): boolean => failures >= OPENS_AFTER && !isAhead(circuitOpenUntil);
  const underTrial = (): boolean => trial !== undefined && isAhead(trial.until);
  const openUntil = (): number => {
    if (!halfOpen()) return circuitOpenUntil;
    return trial && underTrial() ? trial.until : Math.min(circuitOpenUntil, clock.now());
  };
  return {
    recordAnswer,
    recordFailure() {
      failures += 1;
      trial = undefined;
      if (failures < OPENS_AFTER) return;
      circuitOpenUntil = clock.now() + pauseAfter(failures);
    },
    recordAccepted(latency) {
      recordAnswer();
      blockedRate *= 1 - ALPHA;
      latencyMs = latencyMs === 0 ? latency : latencyMs * (1 - ALPHA) + latency * ALPHA;
    },
    recordRefused() {
      blockedRate = blockedRate * (1 - ALPHA) + ALPHA;
    },
    recordEnded(failed) {
      failedAtOnce = failed ? failedAtOnce + 1 : 0;
      brokenUntil = failedAtOnce < OPENS_AFTER ? 0 : clock.now() + pauseAfter(failedAtOnce);
    },
    trackTask() {
      const own = halfOpen() && !underTrial() ? { until: clock.now() + LONGEST_PAUSE_MS } : undefined;
      if (own) trial = own;
      const tracked = load.track();
      return {
        observe: tracked.observe,
        [Symbol.dispose]() {
          tracked[Symbol.dispose]();
          if (own && trial === own) trial = undefined;
        },
      };
    },
    load,
    snapshot: () => ({
      circuitOpenUntil: Math.max(openUntil(), brokenUntil),
      inFlight: load.inFlight,
      blockedRate,
      latencyMs,
    }),
  };
}

function pauseAfter(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - OPENS_AFTER, 10), LONGEST_PAUSE_MS);
}
