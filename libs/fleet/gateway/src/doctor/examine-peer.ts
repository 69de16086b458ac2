import {
  type A2AClient,
  type AgentCard,
  connectionFault,
  type PeerEndpoint,
  peerErrorCode,
} from '@hermes-fleet/a2a';
import { samePeerUrl } from '@hermes-fleet/fleet-config';
import { speaksTls } from '@hermes-fleet/net/tls';
import { declaredHandshake, type PeerCard } from '@hermes-fleet/peers';
import { FleetError, negotiate } from '@hermes-fleet/protocol';
import { decodeAnnounce, type SessionAnnounce, spokenVersions } from '@hermes-fleet/protocol/handshake';
import type { Clock, Ids } from '@hermes-fleet/protocol/ports';
import { type Finding, type FindingList, findingsOn, shownUrl } from './finding.ts';

const TIMEOUT_MS = 5_000;
const TLS_PROBE_MS = 2_000;
const MAX_SKEW_MS = 5_000;

/** A peer as configured in fleet.yaml. */
export interface ExaminedPeer {
  readonly endpoint: PeerEndpoint;
  readonly cardUrl: string;
  /** The environment variable with its token, if configured. */
  readonly tokenEnv: string | undefined;
}

export interface PeerCheckOptions {
  /** The profile that runs the check. */
  readonly profile: string;
  /** The handshake versions that the profile supports. */
  readonly versions: readonly string[];
  readonly client: Pick<A2AClient, 'card' | 'send'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

type CardFacts = Pick<PeerCard, 'handshake' | 'versions'>;

/**
 * Checks that a peer is usable: its address, card, name, token, versions and clock
 * (docs/operations.md#diagnose-a-profile-fleet-doctor). It spends no tokens: it sends one text on the reserved `handshake:`
 * context, and only to a peer that declares the handshake. Bounded in time; a peer's failures are findings, not errors.
 */
export async function examinePeer(
  options: PeerCheckOptions,
  peer: ExaminedPeer,
): Promise<readonly Finding[]> {
  const findings = findingsOn(peer.endpoint.name);
  const card = await cardOf(options, peer, findings);
  if (card === undefined) return findings.all;
  if (!card.handshake) {
    const why = 'its card does not declare the handshake, and a message might cost tokens';
    findings.skipped('token', `not tried: ${why}`);
    return findings.all;
  }
  const probed = await probeIfAllowed(options, peer, findings);
  checkVersions(options, peer.endpoint.name, card, probed?.announce, findings);
  if (probed) checkAnnounce(peer, probed, findings);
  return findings.all;
}

async function cardOf(
  { client }: PeerCheckOptions,
  { endpoint: { name }, cardUrl }: ExaminedPeer,
  findings: FindingList,
): Promise<CardFacts | undefined> {
  const shown = shownUrl(cardUrl);
  let card: AgentCard;
  try {
    card = await client.card(cardUrl, { timeoutMs: TIMEOUT_MS });
  } catch (thrown) {
    const error = FleetError.from(thrown);
    const fault = connectionFault(error) ?? (await plainToTls(cardUrl));
    if (fault) {
      findings.failed('tls', `${shown}: ${fault.what}`, `${fault.remedy} (fleet.agents.${name})`);
      return undefined;
    }
    const answered = error.code === 'PEER_REFUSED';
    if (!answered) {
      const fix = `start ${name}, or correct fleet.agents.${name}`;
      findings.failed('reachable', `nobody answers at ${shown}: ${error.message}`, fix);
      return undefined;
    }
    findings.ok('reachable', `answers at ${shown}`);
    const fix = `set fleet.agents.${name}.agent_card_url to where its card is`;
    findings.failed('card', `its agent card cannot be read at ${shown}: ${error.message}`, fix);
    return undefined;
  }
  const facts = declaredHandshake(card);
  if (cardUrl.startsWith('https:')) findings.ok('tls', 'its certificate is valid');
  findings.ok('reachable', `answers at ${shown}`);
  const spoken = facts.handshake ? 'declares the handshake' : 'does not declare the handshake: a prose peer';
  findings.ok('card', spoken);
  checkName(name, card.name, facts.handshake, findings);
  return facts;
}

/** The fault of a plain address whose port speaks TLS; undefined for any other. */
async function plainToTls(url: string): Promise<ReturnType<typeof connectionFault>> {
  if (!url.startsWith('http:') || !(await speaksTls(url, AbortSignal.timeout(TLS_PROBE_MS))))
    return undefined;
  return { what: 'it speaks TLS', remedy: 'change its address to https://' };
}

function checkName(name: string, shown: string, handshake: boolean, findings: FindingList): void {
  const plain = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  if ([plain(name), plain(`hermes ${name}`)].includes(plain(shown))) {
    findings.ok('name', `its card says "${shown}"`);
    return;
  }
  const fix = `if that is another agent, correct fleet.agents.${name}.url; else name the entry after it, or it after the entry (name in its IDENTITY.md)`;
  findings[handshake ? 'failed' : 'warning']('name', `its card says "${shown}", not "${name}"`, fix);
}

interface ProbeResult {
  readonly announce: SessionAnnounce;
  /** How far its clock is ahead of ours, ms, within `uncertaintyMs`; undefined when the announce has no time. */
  readonly skewMs: number | undefined;
  readonly uncertaintyMs: number;
}

async function probeIfAllowed(
  options: PeerCheckOptions,
  peer: ExaminedPeer,
  findings: FindingList,
): Promise<ProbeResult | undefined> {
  if (peer.tokenEnv === undefined || peer.endpoint.token !== undefined) return probe(options, peer, findings);
  findings.skipped('token', `not tried: ${peer.tokenEnv} has no usable token`);
  return undefined;
}

/** Sends a text that costs no tokens and reads the announce in the answer. */
async function probe(
  options: PeerCheckOptions,
  { endpoint, tokenEnv }: ExaminedPeer,
  findings: FindingList,
): Promise<ProbeResult | undefined> {
  const { name } = endpoint;
  const sentAt = options.clock.now();
  const message = {
    messageId: `doctor:${options.ids.uuid()}`,
    contextId: `handshake:hermes-${name}`,
    text: `profile=${options.profile}: is my token accepted?`,
    blocking: true,
  };
  try {
    const reply = await options.client.send(endpoint, message, { timeoutMs: TIMEOUT_MS });
    const receivedAt = options.clock.now();
    findings.ok('token', tokenEnv === undefined ? 'needs none' : `${tokenEnv} is accepted`);
    const wire =
      reply.kind === 'message' ? reply.data.find(({ type }) => type === 'SESSION_ANNOUNCE') : undefined;
    if (!wire) {
      const fix = `see that ${name} runs a gateway that speaks the handshake`;
      findings.failed(
        'handshake',
        'its card declares the handshake, but it answers without an announce',
        fix,
      );
      return undefined;
    }
    const announce = decodeAnnounce(wire);
    const skewMs =
      announce.sentAt === undefined ? undefined : Date.parse(announce.sentAt) - (sentAt + receivedAt) / 2;
    return { announce, skewMs, uncertaintyMs: (receivedAt - sentAt) / 2 };
  } catch (thrown) {
    addRefusal(FleetError.from(thrown), options.profile, name, tokenEnv, findings);
    return undefined;
  }
}

function addRefusal(
  error: FleetError,
  profile: string,
  name: string,
  tokenEnv: string | undefined,
  findings: FindingList,
): void {
  const code = peerErrorCode(error);
  if (code === 'UNAUTHENTICATED') {
    const fix =
      tokenEnv === undefined
        ? `name the variable that holds it in fleet.agents.${name}.token_env`
        : `put the token that ${name} accepts from ${profile} in ${tokenEnv}, or in the file that ${tokenEnv}_FILE names`;
    const detail =
      tokenEnv === undefined ? 'it wants a token' : `it does not accept the token in ${tokenEnv}`;
    findings.failed('token', detail, fix);
  } else if (code === 'FORBIDDEN') {
    const fix = `add announce to the scopes of the caller that this token stands for, in the fleet.yaml of ${name}`;
    findings.failed('token', 'the token is accepted, but lacks the scope announce', fix);
  } else if (connectionFault(error)) {
    findings.failed('tls', error.message, `see that ${name} takes the client certificate of ${profile}`);
  } else if (error.code === 'PEER_UNREACHABLE') {
    findings.failed('reachable', error.message, `correct fleet.agents.${name}.url, or start ${name}`);
  } else {
    const fields = error.fields.map(({ path, reason }) => `${path} ${reason}`).join('; ');
    const detail = fields === '' ? error.message : `${error.message} (${fields})`;
    findings.failed('handshake', detail, `see the log of ${name}`);
  }
}

function checkVersions(
  { versions }: PeerCheckOptions,
  name: string,
  card: CardFacts,
  announce: SessionAnnounce | undefined,
  findings: FindingList,
): void {
  const theirs = announce ? spokenVersions(announce) : card.versions;
  if (theirs.length === 0) {
    findings.skipped('versions', 'it does not say which versions of the handshake it speaks');
    return;
  }
  const common = negotiate(versions, theirs);
  if (common !== undefined) findings.ok('versions', `handshake ${common}`);
  else {
    const detail = `it speaks handshake ${theirs.join(', ')}, and this profile ${versions.join(', ')}`;
    findings.failed('versions', detail, `upgrade ${name} or this profile: it gets no work until then`);
  }
}

function checkAnnounce(
  { endpoint: { name, url } }: ExaminedPeer,
  { announce, skewMs, uncertaintyMs }: ProbeResult,
  findings: FindingList,
): void {
  const { endpoint, worker } = announce;
  if (worker.agentId !== name) {
    const detail = `it announces itself as "${worker.agentId}": under "${name}" such announces are rejected`;
    findings.failed('identity', detail, `name the entry fleet.agents.${worker.agentId}, or correct its url`);
  } else findings.ok('identity', `announces itself as "${name}"`);

  if (endpoint === undefined) findings.skipped('address', 'it announces no endpoint');
  else if (samePeerUrl(endpoint, url)) findings.ok('address', endpoint);
  else {
    const detail = `it announces ${endpoint}, and fleet.agents.${name}.url is ${url}: its announces are rejected`;
    findings.failed('address', detail, `make both the same: the url here, or server.public_url at ${name}`);
  }

  if (skewMs === undefined) findings.skipped('clock', 'it does not say when it sent its announce');
  else if (Math.abs(skewMs) <= MAX_SKEW_MS + uncertaintyMs)
    findings.ok('clock', `${Math.round(Math.abs(skewMs))} ms apart`);
  else {
    const detail = `its clock is ${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead' : 'behind'}`;
    findings.failed('clock', detail, 'set both clocks by NTP: deadlines are compared across machines');
  }
}
