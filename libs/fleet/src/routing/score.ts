import type { SessionAnnounce, TaskDispatch } from '@hermes-fleet/protocol';
import type { PeerProfile } from '../peers/profile.ts';
import { preferredTier, type RoutingPolicy } from './policy.ts';

const LOAD = 40;
const TIER_STEP = 15;
const FRESH = 1;
const BLOCKED = 20;
const LATENCY = 10;
const LATENCY_STEP_MS = 250;

/**
 * How well an eligible peer suits a dispatch: 100 minus what speaks against it (load, tier fit, refusals, latency),
 * in whole points, so that peers which differ by noise tie and share (design 2, Routing, soft reasons).
 */
export function scoreOf(
  peer: PeerProfile,
  announce: SessionAnnounce,
  dispatch: TaskDispatch,
  policy: RoutingPolicy,
): { score: number; notes: string[] } {
  const load = loadOf(peer, announce);
  const steps = tierDistance(announce.worker.modelTier, preferredTier(dispatch, policy), policy.tiers);
  const latency = Math.min(Math.floor(peer.latencyMs / LATENCY_STEP_MS), LATENCY);
  const fresh = announce.session.sessionFresh ? FRESH : 0;
  const against = LOAD * Math.min(load, 2) + TIER_STEP * steps + BLOCKED * peer.blockedRate + latency;
  const notes = [`load ${load.toFixed(2)}`, `tier ${announce.worker.modelTier} ${steps} off the preferred`];
  if (fresh) notes.push('fresh session');
  if (peer.blockedRate > 0) notes.push(`refused ${Math.round(peer.blockedRate * 100)}% recently`);
  if (latency > 0) notes.push(`latency ${Math.round(peer.latencyMs)} ms`);
  return { score: Math.round(100 + fresh - against), notes };
}

/** Tasks per slot: what the peer announced, or what we have given it since, whichever is more. */
function loadOf(peer: PeerProfile, announce: SessionAnnounce): number {
  const announced = announce.session.activeTasks + (announce.limits?.queuedTasks ?? 0);
  return Math.max(announced, peer.inFlight) / (announce.limits?.maxConcurrentTasks ?? 1);
}

function tierDistance(tier: string, preferred: string | undefined, tiers: readonly string[]): number {
  const [have, want] = [tiers.indexOf(tier), preferred === undefined ? -1 : tiers.indexOf(preferred)];
  return have < 0 || want < 0 ? 0 : Math.abs(have - want);
}
