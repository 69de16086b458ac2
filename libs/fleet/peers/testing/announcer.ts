import type { TestContext } from 'node:test';
import type { A2AClient } from '@hermes-fleet/a2a';
import { FleetError, HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { decodeAnnounce, encodeAnnounce, type SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import type { Log } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import { createMetrics } from '@hermes-fleet/service';
import { createAnnouncer } from '../src/announcing/announcer.ts';
import { createPeerRegistry } from '../src/registry/peer-registry.ts';
import { announceOf, cardOf, NOW } from './index.ts';

type Send = A2AClient['send'];
type Card = A2AClient['card'];

export const nothingKept = {
  peers: () => [],
  savePeer: async () => undefined,
  forgetPeer: async () => undefined,
};

interface Options {
  readonly names?: readonly string[];
  readonly card?: (asked: number, url: string) => ReturnType<Card>;
  readonly versions?: readonly string[];
  readonly self?: (seq: number) => SessionAnnounce | Promise<SessionAnnounce>;
  readonly asKnown?: () => SessionAnnounce;
  readonly bus?: boolean;
  readonly log?: Log;
}

/** Waits until all started work that needs no timer is done. */
export const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate);
};

export function testAnnouncer(
  t: TestContext,
  send: (attempt: number, to: string) => ReturnType<Send>,
  o: Options = {},
) {
  const names = o.names ?? ['neo'];
  const clock = manualClock(NOW);
  const sent: { to: string; contextId: string; seq: number | undefined; version: string; ready: boolean }[] =
    [];
  const cards: string[] = [];
  const published: SessionAnnounce[] = [];
  const configured = Object.fromEntries(names.map((name) => [name, { url: `http://${name}:9220/jsonrpc` }]));
  const log = o.log ?? silentLog;
  const peers = createPeerRegistry({ ledger: nothingKept, configured, clock, log, self: 'switch' });
  let seq = 0;
  const announcer = createAnnouncer({
    self: () => {
      seq += 1;
      return o.self?.(seq) ?? announceOf('switch', { seq, protocolVersions: [...(o.versions ?? ['2.0'])] });
    },
    ...(o.asKnown ? { selfAsKnown: o.asKnown } : {}),
    peers,
    client: {
      send(peer, message) {
        const said = decodeAnnounce(message.data);
        sent.push({
          to: peer.name,
          contextId: said.session.contextId,
          seq: said.seq,
          version: said.protocolVersion,
          ready: said.ready ?? true,
        });
        return send(sent.length, peer.name);
      },
      card(url) {
        cards.push(url);
        return o.card?.(cards.length, url) ?? Promise.resolve(cardOf(HANDSHAKE_EXTENSION, ['2.0']));
      },
    },
    clock,
    log,
    metrics: createMetrics({ profile: 'switch', peers: names, callers: [], defaultMetrics: false }),
    bus: o.bus
      ? { publish: (announce) => void published.push(announce), flush: () => new Promise(() => undefined) }
      : undefined,
    random: () => 1,
  });
  t.after(() => announcer.close());
  return {
    announcer,
    peers,
    clock,
    sent,
    cards,
    published,
    async start() {
      announcer.start();
      await settled();
    },
    async after(ms: number) {
      clock.advance(ms);
      await settled();
    },
  };
}

export const answer = async (name: string): ReturnType<Send> => ({
  kind: 'message',
  text: '',
  data: [encodeAnnounce(announceOf(name))],
});
export const refused = async (): Promise<never> => {
  throw new FleetError('PEER_UNREACHABLE', 'connection refused');
};
export const noCard = async (): Promise<never> => {
  throw new FleetError('PEER_REFUSED', 'HTTP 404');
};
