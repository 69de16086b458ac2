import type { Peers } from '@hermes-fleet/peers';
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
  readonly peers: Peers;
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
  o: HandshakeOptions,
  wire: JsonObject,
  message: InboundMessage,
  caller: Caller,
): Promise<Accepted> {
  requireScope(caller, 'announce');
  const reading = readAnnounce(wire, o.versions);
  const theirs = reading.kind === 'foreign' ? reading.versions : spokenVersions(reading.announce);
  const version = negotiate(o.versions, theirs);
  if (reading.kind === 'announce') await record(o, reading.announce, caller);
  else await noteForeign(o, theirs, version !== undefined, caller);
  const contextId = message.contextId ?? `${HANDSHAKE_CONTEXT}hermes-${o.profile}`;
  const answer = { ...o.announce(), protocolVersion: version ?? highestOf(o.versions) };
  return { kind: 'reply', contextId, data: encodeAnnounce(inContext(answer, contextId)) };
}

async function record(o: HandshakeOptions, announce: SessionAnnounce, caller: Caller): Promise<void> {
  const peer = announce.worker.agentId;
  const recorded = await o.peers.record(announce, caller);
  o.metrics.announce(peer, 'in', recorded.outcome === 'refused' ? 'error' : 'ok');
  if (recorded.outcome !== 'recorded') return;
  o.metrics.peerLastAnnounce(peer, o.clock.now() / 1000);
  o.log.debug({ peer, caller: caller.name }, 'announce recorded');
}

/**
 * A peer without a common major is recorded by its token's name and its versions alone, so that routing can say why it
 * gets no work. One that could speak ours will announce itself again when it has read our answer.
 */
async function noteForeign(
  o: HandshakeOptions,
  theirs: readonly string[],
  common: boolean,
  caller: Caller,
): Promise<void> {
  o.metrics.announce(caller.name, 'in', 'error');
  o.log.warn({ peer: caller.name, versions: theirs }, 'announce of a version that is not spoken here');
  if (common || !o.peers.get(caller.name)?.endpoint) return;
  await o.peers.record(foreignAnnounce(caller.name, theirs), caller);
}

/** Seed 004's convention: role, profile and readiness in words, the announce beside them; it spends nothing. */
export function greet(o: HandshakeOptions, contextId: string, caller: Caller): Accepted {
  requireScope(caller, 'announce');
  const announce = inContext(o.announce(), contextId);
  const state = announce.ready === false ? 'not ready' : 'ready';
  const text = [
    `role=${announce.role ?? 'agent'} profile=${o.profile} ${state}`,
    ...(announce.purpose === undefined ? [] : [announce.purpose]),
  ].join('\n');
  return { kind: 'reply', contextId, text, data: encodeAnnounce(announce) };
}

function inContext(announce: SessionAnnounce, contextId: string): SessionAnnounce {
  return { ...announce, session: { ...announce.session, contextId } };
}
