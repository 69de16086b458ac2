import { type A2AClient, type AgentCard, type PeerEndpoint, peerErrorCode } from '@hermes-fleet/a2a';
import { samePeerUrl } from '@hermes-fleet/fleet-config';
import type { PeerCard } from '@hermes-fleet/peers';
import { declaredHandshake } from '@hermes-fleet/peers';
import {
  type Clock,
  decodeAnnounce,
  FleetError,
  type Ids,
  negotiate,
  type SessionAnnounce,
} from '@hermes-fleet/protocol';
import { type Finding, type Notes, notesOn, shownUrl } from './finding.ts';

const TIMEOUT_MS = 5_000;
const MAX_SKEW_MS = 5_000;

/** A peer as fleet.yaml has it. */
export interface ExaminedPeer {
  readonly endpoint: PeerEndpoint;
  readonly cardUrl: string;
  /** The variable that holds its token, where one is named. */
  readonly tokenEnv: string | undefined;
}

export interface PeerCheckOptions {
  /** The profile that asks. */
  readonly profile: string;
  /** The handshake versions that it speaks. */
  readonly versions: readonly string[];
  readonly client: Pick<A2AClient, 'card' | 'send'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

type CardFacts = Pick<PeerCard, 'handshake' | 'versions'>;

/**
 * Whether a peer can be worked with: reached, its card read, its name, the token, the address, the versions and the
 * clock (design 2, fleet.yaml). It spends nothing: the one message that it sends is a text on the reserved
 * `handshake:` context, and a peer that does not declare the handshake gets none. Bounded in time, never throws for
 * what a peer does.
 */
export async function examinePeer(o: PeerCheckOptions, peer: ExaminedPeer): Promise<readonly Finding[]> {
  const notes = notesOn(peer.endpoint.name);
  const card = await cardOf(o, peer, notes);
  if (card === undefined) return notes.findings;
  if (!card.handshake) {
    const why = 'its card does not declare the handshake, and a message might cost tokens';
    notes.note('token', 'skipped', `not tried: ${why}`);
    return notes.findings;
  }
  const greeted = await greetIfAllowed(o, peer, notes);
  judgeVersions(o, peer.endpoint.name, card, greeted?.announce, notes);
  if (greeted) judgeAnnounce(peer, greeted, notes);
  return notes.findings;
}

async function cardOf(
  { client }: PeerCheckOptions,
  { endpoint: { name }, cardUrl }: ExaminedPeer,
  notes: Notes,
): Promise<CardFacts | undefined> {
  const shown = shownUrl(cardUrl);
  let card: AgentCard;
  try {
    card = await client.card(cardUrl, { timeoutMs: TIMEOUT_MS });
  } catch (thrown) {
    const error = FleetError.from(thrown);
    const answered = error.code === 'PEER_REFUSED';
    if (!answered) {
      const fix = `start ${name}, or correct fleet.agents.${name}`;
      notes.note('reachable', 'failed', `nobody answers at ${shown}: ${error.message}`, fix);
      return undefined;
    }
    notes.note('reachable', 'ok', `answers at ${shown}`);
    const fix = `set fleet.agents.${name}.agent_card_url to where its card is`;
    notes.note('card', 'failed', `its agent card cannot be read at ${shown}: ${error.message}`, fix);
    return undefined;
  }
  const facts = declaredHandshake(card);
  notes.note('reachable', 'ok', `answers at ${shown}`);
  const spoken = facts.handshake ? 'declares the handshake' : 'does not declare the handshake: a prose peer';
  notes.note('card', 'ok', spoken);
  judgeName(name, card.name, facts.handshake, notes);
  return facts;
}

function judgeName(name: string, shown: string, handshake: boolean, notes: Notes): void {
  const plain = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  if ([plain(name), plain(`hermes ${name}`)].includes(plain(shown))) {
    notes.note('name', 'ok', `its card says "${shown}"`);
    return;
  }
  const fix = `if that is another agent, correct fleet.agents.${name}.url; else name the entry after it, or it after the entry (name in its IDENTITY.md)`;
  notes.note('name', handshake ? 'failed' : 'warning', `its card says "${shown}", not "${name}"`, fix);
}

interface Greeting {
  readonly announce: SessionAnnounce;
  /** By how much its clock is ahead of ours, ms, give or take `uncertaintyMs`; undefined where it does not say. */
  readonly skewMs: number | undefined;
  readonly uncertaintyMs: number;
}

async function greetIfAllowed(
  o: PeerCheckOptions,
  peer: ExaminedPeer,
  notes: Notes,
): Promise<Greeting | undefined> {
  if (peer.tokenEnv === undefined || peer.endpoint.token !== undefined) return greet(o, peer, notes);
  notes.note('token', 'skipped', `not tried: ${peer.tokenEnv} has no usable token`);
  return undefined;
}

/** Sends the text that spends nothing, and reads the announce that comes with the answer. */
async function greet(
  o: PeerCheckOptions,
  { endpoint, tokenEnv }: ExaminedPeer,
  notes: Notes,
): Promise<Greeting | undefined> {
  const { name } = endpoint;
  const sentAt = o.clock.now();
  const message = {
    messageId: `doctor:${o.ids.uuid()}`,
    contextId: `handshake:hermes-${name}`,
    text: `profile=${o.profile}: is my token accepted?`,
    blocking: true,
  };
  try {
    const reply = await o.client.send(endpoint, message, { timeoutMs: TIMEOUT_MS });
    const receivedAt = o.clock.now();
    notes.note('token', 'ok', tokenEnv === undefined ? 'needs none' : `${tokenEnv} is accepted`);
    const wire =
      reply.kind === 'message' ? reply.data.find(({ type }) => type === 'SESSION_ANNOUNCE') : undefined;
    if (!wire) {
      const fix = `see that ${name} runs a gateway that speaks the handshake`;
      notes.note(
        'handshake',
        'failed',
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
    noteRefusal(FleetError.from(thrown), o.profile, name, tokenEnv, notes);
    return undefined;
  }
}

function noteRefusal(
  error: FleetError,
  profile: string,
  name: string,
  tokenEnv: string | undefined,
  notes: Notes,
): void {
  const code = peerErrorCode(error);
  if (code === 'UNAUTHENTICATED') {
    const fix =
      tokenEnv === undefined
        ? `name the variable that holds it in fleet.agents.${name}.token_env`
        : `put the token that ${name} accepts from ${profile} in ${tokenEnv}, or in the file that ${tokenEnv}_FILE names`;
    const detail =
      tokenEnv === undefined ? 'it wants a token' : `it does not accept the token in ${tokenEnv}`;
    notes.note('token', 'failed', detail, fix);
  } else if (code === 'FORBIDDEN') {
    const fix = `add announce to the scopes of the caller that this token stands for, in the fleet.yaml of ${name}`;
    notes.note('token', 'failed', 'the token is accepted, but lacks the scope announce', fix);
  } else if (error.code === 'PEER_UNREACHABLE') {
    notes.note('reachable', 'failed', error.message, `correct fleet.agents.${name}.url, or start ${name}`);
  } else {
    const fields = error.fields.map(({ path, reason }) => `${path} ${reason}`).join('; ');
    const detail = fields === '' ? error.message : `${error.message} (${fields})`;
    notes.note('handshake', 'failed', detail, `see the log of ${name}`);
  }
}

function judgeVersions(
  { versions }: PeerCheckOptions,
  name: string,
  card: CardFacts,
  announce: SessionAnnounce | undefined,
  notes: Notes,
): void {
  const announced = announce && (announce.protocolVersions ?? [announce.protocolVersion]);
  const theirs = announced ?? card.versions;
  if (theirs.length === 0) {
    notes.note('versions', 'skipped', 'it does not say which versions of the handshake it speaks');
    return;
  }
  const common = negotiate(versions, theirs);
  if (common !== undefined) notes.note('versions', 'ok', `handshake ${common}`);
  else {
    const detail = `it speaks handshake ${theirs.join(', ')}, and this profile ${versions.join(', ')}`;
    notes.note('versions', 'failed', detail, `upgrade ${name} or this profile: no work goes there before`);
  }
}

function judgeAnnounce(
  { endpoint: { name, url } }: ExaminedPeer,
  { announce, skewMs, uncertaintyMs }: Greeting,
  notes: Notes,
): void {
  const { endpoint, worker } = announce;
  if (worker.agentId !== name) {
    const detail = `it announces itself as "${worker.agentId}": under "${name}" that is not believed`;
    notes.note(
      'identity',
      'failed',
      detail,
      `name the entry fleet.agents.${worker.agentId}, or correct its url`,
    );
  } else notes.note('identity', 'ok', `announces itself as "${name}"`);

  if (endpoint === undefined) notes.note('address', 'skipped', 'it does not announce where it is');
  else if (samePeerUrl(endpoint, url)) notes.note('address', 'ok', endpoint);
  else {
    const detail = `it announces ${endpoint}, and fleet.agents.${name}.url is ${url}: its announces are not believed`;
    notes.note(
      'address',
      'failed',
      detail,
      `make both the same: the url here, or server.public_url at ${name}`,
    );
  }

  if (skewMs === undefined) notes.note('clock', 'skipped', 'it does not say when it sent its announce');
  else if (Math.abs(skewMs) <= MAX_SKEW_MS + uncertaintyMs)
    notes.note('clock', 'ok', `${Math.round(Math.abs(skewMs))} ms apart`);
  else {
    const detail = `its clock is ${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead' : 'behind'}`;
    notes.note('clock', 'failed', detail, 'set both clocks by NTP: deadlines are compared across machines');
  }
}
