import { type PeerRegistry, recordAnnounce } from '@hermes-fleet/peers';
import { highestOf, type JsonObject, negotiate } from '@hermes-fleet/protocol';
import {
  encodeAnnounce,
  foreignAnnounce,
  readAnnounce,
  type SessionAnnounce,
  spokenVersions,
} from '@hermes-fleet/protocol/handshake';
import type { Accepted, Caller, Clock, InboundMessage, Log } from '@hermes-fleet/protocol/ports';
import { type FleetMetrics, requireScope } from '@hermes-fleet/service';

/** Prefix of the context IDs that are reserved for the handshake (docs/handshake.md#handshake-contexts). */
export const HANDSHAKE_CONTEXT = 'handshake:';

export interface HandshakeOptions {
  readonly profile: string;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  readonly peers: PeerRegistry;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly announce: () => SessionAnnounce;
}

/**
 * Records a SESSION_ANNOUNCE and replies with our own, in the highest version that both sides list. Of an unsupported
 * major version only the versions are read. It is answered too, so that its sender learns our versions. The reply to an
 * announce that is refused says so, with the reason (docs/handshake.md#announce-authorization).
 */
export async function acceptAnnounce(
  options: HandshakeOptions,
  wire: JsonObject,
  message: InboundMessage,
  caller: Caller,
): Promise<Accepted> {
  requireScope(caller, 'announce');
  const decoded = readAnnounce(wire, options.versions);
  const theirs = decoded.kind === 'foreign' ? decoded.versions : spokenVersions(decoded.announce);
  const version = negotiate(options.versions, theirs);
  const refusal = decoded.kind === 'announce' ? await record(options, decoded.announce, caller) : undefined;
  if (decoded.kind === 'foreign') await recordForeign(options, theirs, version !== undefined, caller);
  const contextId = message.contextId ?? `${HANDSHAKE_CONTEXT}hermes-${options.profile}`;
  const answer = { ...options.announce(), protocolVersion: version ?? highestOf(options.versions) };
  return {
    kind: 'reply',
    contextId,
    data: encodeAnnounce(inContext(answer, contextId)),
    ...(refusal === undefined ? {} : { remark: { accepted: false, reason: refusal } }),
  };
}

/** Returns the reason if the announce is refused. */
async function record(
  options: HandshakeOptions,
  announce: SessionAnnounce,
  caller: Caller,
): Promise<string | undefined> {
  const peer = announce.worker.agentId;
  const recorded = await recordAnnounce(options, announce, caller, peer);
  if (recorded.outcome === 'recorded') options.log.debug({ peer, caller: caller.name }, 'announce recorded');
  return recorded.outcome === 'refused' ? recorded.reason : undefined;
}

/**
 * Records a peer without a common major version by its caller's name and its versions, so that routing can explain why
 * it excludes the peer. A peer with a common version announces itself again after it has read our reply.
 */
async function recordForeign(
  options: HandshakeOptions,
  theirs: readonly string[],
  common: boolean,
  caller: Caller,
): Promise<void> {
  const peer = caller.name;
  options.metrics.add('fleet_handshake_announces_total', { peer, direction: 'in', result: 'error' });
  options.log.warn({ peer, versions: theirs }, 'announce of an unsupported version');
  if (common || !options.peers.get(peer)?.endpoint) return;
  await options.peers.record(foreignAnnounce(peer, theirs), caller);
}

/** Replies to text in a handshake context with role, profile and readiness, and with our announce. Runs nothing. */
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
