import type { Clock } from '@hermes-fleet/protocol';
import type { PeerProfile } from '../peer-profile.ts';

const OPENS_AFTER = 3;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
/** Weight of the newest observation in the moving averages. */
const NEWEST = 0.3;

/** How a peer has behaved lately, as this profile saw it. In memory: a restart gives everybody a fresh start. */
export interface PeerHealth {
  /** It answered something: a circuit that was open closes. */
  recordAnswer(): void;
  /**
   * It could not be reached; after three times in a row the circuit opens, longer each time. When that is over, the next
   * task that occupies the peer is the one trial, and the circuit stays open for others until the peer answered it,
   * failed again, or the task left.
   */
  recordFailure(): void;
  /** It took a dispatch after this time. */
  recordAccepted(latencyMs: number): void;
  recordRefused(): void;
  /** A task of ours is with it until the returned object is disposed. */
  trackTask(): Disposable;
  snapshot(): Pick<PeerProfile, 'circuitOpenUntil' | 'inFlight' | 'blockedRate' | 'latencyMs'>;
}

export function createPeerHealth(clock: Clock): PeerHealth {
  let failures = 0;
  let circuitOpenUntil = 0;
  let trial: { readonly until: number } | undefined;
  let inFlight = 0;
  let blockedRate = 0;
  let latencyMs = 0;

  const answered = (): void => {
    failures = 0;
    circuitOpenUntil = 0;
    trial = undefined;
  };
  /** Whether this time is still to come; further ahead than any pause, and the clock was set back. */
  const isAhead = (until: number): boolean => clock.now() < until && until - clock.now() <= LONGEST_PAUSE_MS;
  const halfOpen = (): boolean => failures >= OPENS_AFTER && !isAhead(circuitOpenUntil);
  const underTrial = (): boolean => trial !== undefined && isAhead(trial.until);
  const openUntil = (): number => {
    if (!halfOpen()) return circuitOpenUntil;
    return trial && underTrial() ? trial.until : Math.min(circuitOpenUntil, clock.now());
  };
  return {
    recordAnswer: answered,
    recordFailure() {
      failures += 1;
      trial = undefined;
      if (failures < OPENS_AFTER) return;
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - OPENS_AFTER, 10), LONGEST_PAUSE_MS);
      circuitOpenUntil = clock.now() + pause;
    },
    recordAccepted(latency) {
      answered();
      blockedRate *= 1 - NEWEST;
      latencyMs = latencyMs === 0 ? latency : latencyMs * (1 - NEWEST) + latency * NEWEST;
    },
    recordRefused() {
      blockedRate = blockedRate * (1 - NEWEST) + NEWEST;
    },
    trackTask() {
      const own = halfOpen() && !underTrial() ? { until: clock.now() + LONGEST_PAUSE_MS } : undefined;
      if (own) trial = own;
      inFlight += 1;
      let held = true;
      return {
        [Symbol.dispose]() {
          if (!held) return;
          held = false;
          inFlight -= 1;
          if (own && trial === own) trial = undefined;
        },
      };
    },
    snapshot: () => ({
      circuitOpenUntil: openUntil(),
      inFlight,
      blockedRate,
      latencyMs,
    }),
  };
}
