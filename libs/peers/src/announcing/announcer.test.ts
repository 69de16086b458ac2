import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { type A2AClient, type AgentCard, createA2AClient } from '@hermes-fleet/a2a';
import { announceOf, cardOf, manualClock, silent } from '@hermes-fleet/fleet/testing';
import {
  decodeAnnounce,
  encodeAnnounce,
  FleetError,
  HANDSHAKE_EXTENSION,
  type Log,
  type SessionAnnounce,
  systemClock,
} from '@hermes-fleet/protocol';
import { createMetrics } from '@hermes-fleet/service';
import { createPeerRegistry } from '../registry/peer-registry.ts';
import { createAnnouncer } from './announcer.ts';

type Send = A2AClient['send'];
type Card = A2AClient['card'];

const nothingKept = {
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

/** Runs what has been set off until nothing is left to do at once. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate);
};

function setUp(t: TestContext, send: (attempt: number, to: string) => ReturnType<Send>, o: Options = {}) {
  const names = o.names ?? ['neo'];
  const clock = manualClock();
  const sent: { to: string; contextId: string; seq: number | undefined; version: string; ready: boolean }[] =
    [];
  const cards: string[] = [];
  const published: SessionAnnounce[] = [];
  const configured = Object.fromEntries(names.map((name) => [name, { url: `http://${name}:9220/jsonrpc` }]));
  const log = o.log ?? silent;
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

const answer = async (name: string): ReturnType<Send> => ({
  kind: 'message',
  text: '',
  data: [encodeAnnounce(announceOf(name))],
});
const refused = async (): Promise<never> => {
  throw new FleetError('PEER_UNREACHABLE', 'connection refused');
};
const noCard = async (): Promise<never> => {
  throw new FleetError('PEER_REFUSED', 'HTTP 404');
};

describe('the announcer', () => {
  it('announces at start, in the context of the peer addressed, and learns from the answer', async (t) => {
    const { announcer, peers, sent, start } = setUp(t, () => answer('neo'));
    await start();
    announcer.start();
    await settled();
    assert.deepEqual(sent, [
      { to: 'neo', contextId: 'handshake:hermes-neo', seq: 1, version: '2.0', ready: true },
    ]);
    assert.equal(peers.get('neo')?.announce?.worker.agentId, 'neo');
  });

  it('says the same to everybody, under one sequence', async (t) => {
    const names = ['morpheus', 'neo', 'trinity'];
    const { sent, published, start, after } = setUp(t, (_n, to) => answer(to), { names, bus: true });
    await start();
    await after(30_000);
    assert.deepEqual(
      sent.map(({ to, seq }) => `${to} ${seq}`),
      [...names.map((name) => `${name} 1`), ...names.map((name) => `${name} 2`)],
    );
    assert.deepEqual(
      published.map(({ seq }) => seq),
      [1, 2],
    );
  });

  it('tries again with backoff until it is answered, always with the newest, beside the heartbeat', async (t) => {
    const { sent, start, after } = setUp(t, (n) => (n < 3 ? refused() : answer('neo')));
    await start();
    await after(500);
    await after(1_000);
    assert.deepEqual(
      sent.map(({ seq }) => seq),
      [1, 1, 1],
    );
    await after(28_499);
    assert.equal(sent.length, 3);
    await after(1);
    assert.equal(sent.at(-1)?.seq, 2);
    await after(30_000);
    assert.equal(sent.at(-1)?.seq, 3);
  });

  it('announces a change once a second at most, also to whom it tries to reach', async (t) => {
    const { announcer, sent, start, after } = setUp(t, (_n, to) => (to === 'neo' ? answer(to) : refused()), {
      names: ['neo', 'trinity'],
    });
    await start();
    for (let i = 0; i < 5; i += 1) announcer.changed();
    await after(999);
    assert.ok(sent.every(({ seq }) => seq === 1));
    await after(1);
    const second = sent.filter(({ seq }) => seq === 2).map(({ to }) => to);
    assert.deepEqual(second, ['neo', 'trinity']);
    assert.equal(sent.filter(({ to }) => to === 'neo').length, 2);
  });

  it('goes on when it cannot tell its own state for a while', async (t) => {
    const { sent, start, after } = setUp(t, () => answer('neo'), {
      self: (n) => (n < 3 ? Promise.reject(new Error('git')) : announceOf('switch', { seq: n })),
    });
    await start();
    assert.equal(sent.length, 0);
    await after(500);
    await after(1_000);
    assert.deepEqual(
      sent.map(({ seq }) => seq),
      [3],
    );
  });

  it('does not believe a peer that answers for another', async (t) => {
    const { peers, start } = setUp(t, () => answer('trinity'), { names: ['neo', 'trinity'] });
    await start();
    assert.equal(peers.get('neo')?.announce, undefined);
  });

  it('takes an answer without an announce, or with a broken one, for what it is', async (t) => {
    const { peers, sent, start, after } = setUp(t, async (n) => ({
      kind: 'message',
      text: 'hello',
      data: n === 1 ? [] : [{ type: 'SESSION_ANNOUNCE' }],
    }));
    await start();
    await after(30_000);
    assert.equal(sent.length, 2);
    assert.equal(peers.get('neo')?.announce, undefined);
  });

  it('says farewell to whom it reached, and on the bus, and is silent from then on', async (t) => {
    const { announcer, sent, published, start, after, clock } = setUp(
      t,
      (_n, to) => (to === 'neo' ? answer(to) : refused()),
      { names: ['neo', 'trinity'], bus: true },
    );
    await start();
    announcer.changed();
    const left = announcer.farewell();
    await settled();
    clock.advance(1_000);
    await left;
    const said = sent.filter(({ ready }) => !ready);
    assert.deepEqual(
      said.map(({ to, seq }) => [to, seq]),
      [['neo', 2]],
    );
    assert.equal(published.at(-1)?.ready, false);
    await announcer.farewell();
    await announcer.close();
    await after(60_000);
    assert.equal(published.length, 2);
  });

  it('says nothing at the end when it never began', async (t) => {
    const { announcer, sent } = setUp(t, () => answer('neo'));
    await announcer.farewell();
    announcer.start();
    announcer.changed();
    await settled();
    await announcer.close();
    assert.equal(sent.length, 1);
  });

  it('says farewell also while its workspace takes too long to be measured', async (t) => {
    const { announcer, sent, published, start } = setUp(t, () => answer('neo'), {
      self: (seq) => (seq === 1 ? announceOf('switch') : new Promise<never>(() => undefined)),
      asKnown: () => announceOf('switch', { seq: 7 }),
      bus: true,
    });
    await start();
    const left = announcer.farewell();
    await settled();
    assert.deepEqual([sent.at(-1)?.seq, sent.at(-1)?.ready, published.at(-1)?.ready], [7, false, false]);
    void left;
  });

  it('stops at once, and leaves within a second, also while a peer does not answer', async () => {
    const deaf = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    const address = deaf.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const client = createA2AClient({ clock: systemClock, log: silent, extensions: [HANDSHAKE_EXTENSION] });
    const announcer = createAnnouncer({
      self: () => announceOf('switch'),
      peers: createPeerRegistry({
        ledger: nothingKept,
        configured: { neo: { url: `http://127.0.0.1:${port}/jsonrpc` } },
        clock: systemClock,
        log: silent,
        self: 'switch',
      }),
      client,
      clock: systemClock,
      log: silent,
      metrics: createMetrics({ profile: 'switch', peers: ['neo'], callers: [], defaultMetrics: false }),
    });
    const asked = once(deaf, 'request');
    announcer.start();
    await asked;
    await announcer.farewell();
    await announcer.close();
    announcer.changed();
    deaf.closeAllConnections();
    deaf.close();
  });
});

describe('before it announces to a peer', () => {
  const card = (extension: string | undefined, versions?: string[]): Promise<AgentCard> =>
    Promise.resolve(cardOf(extension, versions));

  it('the announcer reads its agent card, and again as long as it is believed', async (t) => {
    const { cards, peers, start, after } = setUp(t, () => answer('neo'));
    await start();
    assert.deepEqual(cards, ['http://neo:9220/.well-known/agent-card.json']);
    assert.deepEqual(peers.get('neo')?.card?.versions, ['2.0']);
    for (let i = 0; i < 4; i += 1) await after(30_000);
    assert.equal(cards.length, 2);
  });

  it('a peer without the extension gets no announce, and its card is its heartbeat', async (t) => {
    const logged: string[] = [];
    const log: Log = { ...silent, info: (_o, m) => void logged.push(m) };
    const { sent, cards, peers, announcer, start, after } = setUp(t, () => answer('neo'), {
      card: (n) => card(n < 5 ? undefined : HANDSHAKE_EXTENSION, ['2.0']),
      log,
    });
    await start();
    assert.deepEqual([sent.length, peers.get('neo')?.card?.handshake], [0, false]);
    announcer.changed();
    await after(1_000);
    assert.equal(cards.length, 1);
    for (let i = 0; i < 3; i += 1) await after(30_000);
    assert.deepEqual([sent.length, cards.length], [0, 4]);
    assert.equal(logged.filter((line) => line === 'a peer is not announced to').length, 1);
    await after(30_000);
    assert.equal(sent.length, 1);
  });

  it('a peer whose card is there no longer is announced to, once that card is too old to say anything', async (t) => {
    for (const said of [card(undefined), card(HANDSHAKE_EXTENSION, ['3.0'])]) {
      const { sent, start, after } = setUp(t, () => answer('neo'), {
        card: (n) => (n === 1 ? said : noCard()),
      });
      await start();
      for (let i = 0; i < 3; i += 1) await after(30_000);
      assert.equal(sent.length, 0);
      await after(30_000);
      assert.equal(sent.length, 1);
    }
  });

  it('a peer of another major gets no announce, and its card says why', async (t) => {
    const { sent, peers, start, after } = setUp(t, () => answer('neo'), {
      card: () => card(HANDSHAKE_EXTENSION, ['3.0']),
    });
    await start();
    await after(30_000);
    assert.deepEqual([sent.length, peers.get('neo')?.card?.versions], [0, ['3.0']]);
  });

  it('without a card that can be read it announces all the same', async (t) => {
    const { sent, peers, start } = setUp(t, () => answer('neo'), { card: noCard });
    await start();
    assert.deepEqual([sent.length, peers.get('neo')?.card], [1, undefined]);
  });

  it('a peer that cannot be reached is tried again, its card first', async (t) => {
    const { sent, cards, start, after } = setUp(t, () => answer('neo'), {
      card: (n) => (n < 3 ? refused() : card(HANDSHAKE_EXTENSION)),
    });
    await start();
    await after(500);
    await after(1_000);
    assert.deepEqual([cards.length, sent.length], [3, 1]);
  });

  const spoken: [ours: string[], theirs: string[] | undefined, version: string][] = [
    [['2.0'], ['2.0'], '2.0'],
    [['2.1', '2.0'], ['2.0'], '2.0'],
    [['2.1', '2.0'], ['2.0', '2.1'], '2.1'],
    [['3.0', '2.1'], ['2.0'], '2.1'],
    [['3.0', '2.0'], ['2.0', '3.0'], '3.0'],
    [['2.0'], undefined, '2.0'],
  ];
  for (const [ours, theirs, version] of spoken)
    it(`between ${ours} and ${theirs ?? 'no list'} it speaks ${version}`, async (t) => {
      const { sent, start } = setUp(t, () => answer('neo'), {
        versions: ours,
        card: () => card(HANDSHAKE_EXTENSION, theirs),
        self: (seq) => announceOf('switch', { seq, protocolVersions: ours }),
      });
      await start();
      assert.equal(sent[0]?.version, version);
    });

  it('an empty list of versions in an announce says nothing that its own version does not', async (t) => {
    const { sent, start, after } = setUp(
      t,
      async () => ({
        kind: 'message',
        text: '',
        data: [encodeAnnounce(announceOf('neo', { protocolVersion: '2.0', protocolVersions: [] }))],
      }),
      {
        versions: ['3.0', '2.0'],
        card: noCard,
        self: (seq) =>
          announceOf('switch', { seq, protocolVersion: '3.0', protocolVersions: ['3.0', '2.0'] }),
      },
    );
    await start();
    await after(30_000);
    assert.deepEqual(
      sent.map(({ version }) => version),
      ['3.0', '2.0'],
    );
  });

  it('what a live peer announced counts for more than its card', async (t) => {
    const ours = ['2.1', '2.0'];
    const { sent, start, after } = setUp(
      t,
      async () => ({
        kind: 'message',
        text: '',
        data: [encodeAnnounce(announceOf('neo', { protocolVersions: ['2.1', '2.0'] }))],
      }),
      { versions: ours, card: () => card(HANDSHAKE_EXTENSION, ['2.0']) },
    );
    await start();
    await after(30_000);
    assert.deepEqual(
      sent.map(({ version }) => version),
      ['2.0', '2.1'],
    );
  });
});
