import type { Clock } from '@hermes-fleet/protocol/ports';
import type { PeerProfile } from '../peer-profile.ts';
import { createPeerLoad, type TaskAtPeer } from './peer-load.ts';

const OPENS_AFTER = 3;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
/** Weight of the newest observation in the exponential moving averages. */
const ALPHA = 0.3;
/** After this time without an observation, the averages count half. */
const HALF_LIFE_MS = 30_000;

export type PeerHealth = ReturnType<typeof createPeerHealth>;

/**
 * Health of a peer as this profile observed it: a circuit breaker and moving averages, in memory. The averages fade with
 * time, so that a peer that was slow or refused once is tried again, also while others have room. `random` spreads the
 * pauses after refusals, 0 to 1.
 */
export function createPeerHealth(clock: Clock, random: () => number = Math.random) {
  const load = createPeerLoad(clock, random);
  /** Failures in a row: the peer could not be reached; a task failed there before it began. */
  let unreachable = 0;
  let failedTasks = 0;
  /** How often the circuit has opened since it was closed. */
  let openings = 0;
  let circuitOpenUntil = 0;
  let trial: { readonly until: number } | undefined;
  let blockedRate = 0;
  let latencyMs = 0;
  let observedAt = clock.monotonic();
  /** The part of the averages that still counts. */
  const kept = (): number => 0.5 ** ((clock.monotonic() - observedAt) / HALF_LIFE_MS);

  /** True if the time is in the future. If it is further ahead than the longest pause, the clock was set back. */
  const isAhead = (until: number): boolean => clock.now() < until && until - clock.now() <= LONGEST_PAUSE_MS;
  const isBroken = (): boolean => unreachable >= OPENS_AFTER || failedTasks >= OPENS_AFTER;
  const halfOpen = (): boolean => isBroken() && !isAhead(circuitOpenUntil);
  const underTrial = (): boolean => trial !== undefined && isAhead(trial.until);
  const openUntil = (): number => {
    if (!halfOpen()) return circuitOpenUntil;
    return trial && underTrial() ? trial.until : Math.min(circuitOpenUntil, clock.now());
  };
  const closeIfSound = (): void => {
    if (isBroken()) return;
    openings = 0;
    circuitOpenUntil = 0;
    trial = undefined;
  };
  const openIfBroken = (): void => {
    trial = undefined;
    if (!isBroken()) return;
    openings += 1;
    const pause = FIRST_PAUSE_MS * 2 ** Math.min(openings - 1, 10);
    circuitOpenUntil = clock.now() + Math.min(pause, LONGEST_PAUSE_MS);
  };
  const recordAnswer = (): void => {
    unreachable = 0;
    closeIfSound();
  };
  return {
    /** The peer answered. Closes the circuit. */
    recordAnswer,
    /**
     * The peer could not be reached. Three failures in a row open the circuit, for longer each time. Then the circuit is
     * half-open: the next task at the peer is the trial, and the circuit stays open for other tasks until the peer answers,
     * fails again, or the trial leaves.
     */
    recordFailure(): void {
      unreachable += 1;
      openIfBroken();
    },
    /** The peer accepted a dispatch after this time, ms. */
    recordAccepted(latency: number): void {
      recordAnswer();
      const known = latencyMs === 0 ? 0 : (1 - ALPHA) * kept();
      latencyMs = latencyMs * known + latency * (1 - known);
      blockedRate *= (1 - ALPHA) * kept();
      observedAt = clock.monotonic();
    },
    /** The peer refused a dispatch. */
    recordRefused(): void {
      latencyMs *= kept();
      blockedRate = blockedRate * kept() * (1 - ALPHA) + ALPHA;
      observedAt = clock.monotonic();
    },
    /**
     * A task ended at the peer. Three in a row that failed before they began open the circuit, for longer each time: the
     * peer answers, and can do no work.
     */
    recordEnded(failedAtOnce: boolean): void {
      failedTasks = failedAtOnce ? failedTasks + 1 : 0;
      // Tasks that were sent before the circuit opened say nothing new.
      if (failedAtOnce && !isAhead(circuitOpenUntil)) openIfBroken();
      else closeIfSound();
    },
    /** Counts a task at the peer until the result is disposed. */
    trackTask(): TaskAtPeer {
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
    snapshot(): Pick<PeerProfile, 'circuitOpenUntil' | 'inFlight' | 'blockedRate' | 'latencyMs'> {
      const part = kept();
      return {
        circuitOpenUntil: openUntil(),
        inFlight: load.inFlight,
        blockedRate: blockedRate * part,
        latencyMs: latencyMs * part,
      };
    },
  };
}
