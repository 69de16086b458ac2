import type { PeerRegistry } from '@hermes-fleet/peers';
import {
  type Accepted,
  type Caller,
  type Clock,
  encodeAnnounce,
  foreignAnnounce,
  highestOf,
  type InboundMessage,
  type JsonObject,
  type Log,
  negotiate,
  readAnnounce,
  type SessionAnnounce,
  spokenVersions,
} from '@hermes-fleet/protocol';
import { type FleetMetrics, requireScope } from '@hermes-fleet/service';

/** Context ids that begin with this belong to the handshake: nothing runs there (seed 004). */
export const HANDSHAKE_CONTEXT = 'handshake:';

export interface HandshakeOptions {
  readonly profile: string;
  /** The handshake versions that this profile speaks. */
  readonly versions: readonly string[];
  readonly peers: PeerRegistry;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly announce: () => SessionAnnounce;
}

/**
 * Takes note of a SESSION_ANNOUNCE and answers with our own, in the highest version that both sides list. Of one that
 * is of a foreign major, only the versions are read; it is answered all the same, so that its sender learns ours.
 */
export async function acceptAnnounce(
  options: HandshakeOptions,
  wire: JsonObject,
  message: InboundMessage,
  caller: Caller,
): Promise<Accepted> {
  requireScope(caller, 'announce');
  const reading = readAnnounce(wire, options.versions);
  const theirs = reading.kind === 'foreign' ? reading.versions : spokenVersions(reading.announce);
  const version = negotiate(options.versions, theirs);
  if (reading.kind === 'announce') await record(options, reading.announce, caller);
  else await recordForeign(options, theirs, version !== undefined, caller);
  const contextId = message.contextId ?? `${HANDSHAKE_CONTEXT}hermes-${options.profile}`;
  const answer = { ...options.announce(), protocolVersion: version ?? highestOf(options.versions) };
  return { kind: 'reply', contextId, data: encodeAnnounce(inContext(answer, contextId)) };
}

async function record(options: HandshakeOptions, announce: SessionAnnounce, caller: Caller): Promise<void> {
  const peer = announce.worker.agentId;
  const recorded = await options.peers.record(announce, caller);
  options.metrics.announce(peer, 'in', recorded.outcome === 'refused' ? 'error' : 'ok');
  if (recorded.outcome !== 'recorded') return;
  options.metrics.peerLastAnnounce(peer, options.clock.now() / 1000);
  options.log.debug({ peer, caller: caller.name }, 'announce recorded');
}

/**
 * A peer without a common major is recorded by its token's name and its versions alone, so that routing can say why it
 * gets no work. One that could speak ours will announce itself again when it has read our answer.
 */
async function recordForeign(
  options: HandshakeOptions,
  theirs: readonly string[],
  common: boolean,
  caller: Caller,
): Promise<void> {
  options.metrics.announce(caller.name, 'in', 'error');
  options.log.warn({ peer: caller.name, versions: theirs }, 'announce of a version that is not spoken here');
  if (common || !options.peers.get(caller.name)?.endpoint) return;
  await options.peers.record(foreignAnnounce(caller.name, theirs), caller);
}

/** Seed 004's convention: role, profile and readiness in words, the announce beside them; it spends nothing. */
export function acceptGreeting(options: HandshakeOptions, contextId: string, caller: Caller): Accepted {
  requireScope(caller, 'announce');
  const announce = inContext(options.announce(), contextId);
  const state = announce.ready === false ? 'not ready' : 'ready';
  const text = [
    `role=${announce.role ?? 'agent'} profile=${options.profile} ${state}`,
    ...(announce.purpose === undefined ? [] : [announce.purpose]),
  ].join('\n');
  return { kind: 'reply', contextId, text, data: encodeAnnounce(announce) };
}

function inContext(announce: SessionAnnounce, contextId: string): SessionAnnounce {
  return { ...announce, session: { ...announce.session, contextId } };
}
