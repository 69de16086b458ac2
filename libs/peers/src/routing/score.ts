import type { SessionAnnounce, TaskDispatch } from '@hermes-fleet/protocol';
import type { PeerProfile } from '../peer-profile.ts';
import { preferredTier, type RoutingPolicy } from './policy.ts';

const LOAD = 40;
const TIER_STEP = 15;
const FRESH = 1;
const BLOCKED = 20;
const LATENCY = 10;
const LATENCY_STEP_MS = 250;
/** Penalty of a prose peer: it is chosen only if all peers with an announce have a queue. */
const PROSE = 60;

export interface Score {
  readonly score: number;
  readonly notes: readonly string[];
}

/**
 * Scores an eligible peer by the soft reasons of docs/handshake.md#routing: 100 minus penalties for load, tier distance,
 * refusals and latency. Scores are whole points, so that peers that differ by noise tie and share the work.
 */
export type Scorer = (peer: PeerProfile, announce: SessionAnnounce) => Score;

export function createScorer(dispatch: TaskDispatch, policy: RoutingPolicy): Scorer {
  const preferred = preferredTier(dispatch, policy);
  return (peer, announce) => {
    const load = loadOf(peer, announce);
    const { modelTier } = announce.worker;
    const steps = tierDistance(modelTier, preferred, policy.tiers);
    const fresh = announce.session.sessionFresh ? FRESH : 0;
    const health = healthPenalty(peer);
    const notes = [`load ${shown(load)}`, `tier ${modelTier} ${steps} off the preferred`];
    if (fresh) notes.push('fresh session');
    notes.push(...health.notes);
    const penalty = LOAD * Math.min(load, 2) + TIER_STEP * steps + health.penalty;
    return { score: Math.round(100 + fresh - penalty), notes };
  };
}

/** Scores a prose peer, of which only the health is known. */
export function scoreProse(peer: PeerProfile): Score {
  const { penalty, notes } = healthPenalty(peer);
  return {
    score: Math.round(100 - PROSE - LOAD * Math.min(peer.inFlight, 2) - penalty),
    notes: ['speaks prose: requirements travel as hints', `load ${shown(peer.inFlight)}`, ...notes],
  };
}

function healthPenalty({ blockedRate, latencyMs }: PeerProfile): {
  penalty: number;
  notes: readonly string[];
} {
  if (blockedRate === 0 && latencyMs === 0) return NO_PENALTY;
  const latency = Math.min(Math.floor(latencyMs / LATENCY_STEP_MS), LATENCY);
  const notes: string[] = [];
  if (blockedRate > 0) notes.push(`refused ${Math.round(blockedRate * 100)}% recently`);
  if (latency > 0) notes.push(`latency ${Math.round(latencyMs)} ms`);
  return { penalty: BLOCKED * blockedRate + latency, notes };
}

const NO_PENALTY = { penalty: 0, notes: [] };

/** Tasks per slot, by the peer's announce or by our own tasks at the peer, whichever is greater. */
function loadOf(peer: PeerProfile, announce: SessionAnnounce): number {
  const announced = announce.session.activeTasks + (announce.limits?.queuedTasks ?? 0);
  return Math.max(announced, peer.inFlight) / (announce.limits?.maxConcurrentTasks ?? 1);
}

const shown = (load: number): string => (load === 0 ? '0.00' : load.toFixed(2));

function tierDistance(tier: string, preferred: string | undefined, tiers: readonly string[]): number {
  const [have, want] = [tiers.indexOf(tier), preferred === undefined ? -1 : tiers.indexOf(preferred)];
  return have < 0 || want < 0 ? 0 : Math.abs(have - want);
}
