import type { SessionAnnounce, TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { capacityOf } from '../capacity.ts';
import type { PeerProfile } from '../peer-profile.ts';
import { preferredTier, type RoutingPolicy } from './policy.ts';

const LOAD = 40;
const TIER_STEP = 15;
const FRESH = 1;
const BLOCKED = 20;
const LATENCY = 10;
const LATENCY_STEP_MS = 250;
/** Penalty of a prose peer: it is chosen only if no peer with an announce has a free slot and scores more. */
const PROSE = 60;

export interface Score {
  readonly score: number;
  readonly notes: string[];
}

/**
 * Scores an eligible peer by the soft reasons of docs/handshake.md#routing: 100 minus penalties for load, tier distance,
 * refusals and latency. Scores are whole points, so that peers that differ by noise tie and share the work.
 */
export type Scorer = (peer: PeerProfile, announce: SessionAnnounce) => Score;

export function createScorer(dispatch: TaskDispatch, policy: RoutingPolicy, now: number): Scorer {
  const preferred = preferredTier(dispatch, policy);
  return (peer, announce) => {
    const load = loadOf(peer, now);
    const { modelTier } = announce.worker;
    const steps = tierDistance(modelTier, preferred, policy.tiers);
    const fresh = announce.session.sessionFresh ? FRESH : 0;
    const health = healthPenalty(peer);
    const notes = [`load ${shown(load)}`, `tier ${modelTier} ${steps} off the preferred`];
    if (fresh) notes.push('fresh session');
    notes.push(...health.notes);
    const penalty = LOAD * load + TIER_STEP * steps + health.penalty;
    return { score: Math.round(100 + fresh - penalty), notes };
  };
}

/** Scores a prose peer, of which only the health is known. */
export function scoreProse(peer: PeerProfile, now: number): Score {
  const { penalty, notes } = healthPenalty(peer);
  const load = loadOf(peer, now);
  return {
    score: Math.round(100 - PROSE - LOAD * load - penalty),
    notes: ['speaks prose: requirements travel as hints', `load ${shown(load)}`, ...notes],
  };
}

function healthPenalty({ blockedRate, latencyMs }: PeerProfile): {
  penalty: number;
  notes: string[];
} {
  if (blockedRate === 0 && latencyMs === 0) return NO_PENALTY;
  const latency = Math.min(Math.floor(latencyMs / LATENCY_STEP_MS), LATENCY);
  const notes: string[] = [];
  if (blockedRate > 0) notes.push(`refused ${Math.round(blockedRate * 100)}% recently`);
  if (latency > 0) notes.push(`latency ${Math.round(latencyMs)} ms`);
  return { penalty: BLOCKED * blockedRate + latency, notes };
}

const NO_PENALTY = { penalty: 0, notes: [] };

/** Tasks per slot. */
function loadOf(peer: PeerProfile, now: number): number {
  const { load, limit } = capacityOf(peer, now);
  return load / limit;
}

const shown = (load: number): string => (load === 0 ? '0.00' : load.toFixed(2));

function tierDistance(tier: string, preferred: string | undefined, tiers: readonly string[]): number {
  const [have, want] = [tiers.indexOf(tier), preferred === undefined ? -1 : tiers.indexOf(preferred)];
  return have < 0 || want < 0 ? 0 : Math.abs(have - want);
}
