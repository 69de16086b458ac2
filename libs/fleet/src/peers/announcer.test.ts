import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { type A2AClient, createA2AClient } from '@hermes-fleet/a2a';
import {
  decodeAnnounce,
  encodeAnnounce,
  FleetError,
  HANDSHAKE_EXTENSION,
  systemClock,
} from '@hermes-fleet/protocol';
import { createMetrics } from '@hermes-fleet/service';
import { announceOf, manualClock, silent } from '../testing/fakes.ts';
import { createAnnouncer } from './announcer.ts';
import { createPeers } from './peers.ts';

type Send = A2AClient['send'];

function setUp(t: TestContext, send: (attempt: number) => ReturnType<Send>, names = ['neo']) {
  const clock = manualClock();
  const sent: { to: string; contextId: string | undefined; seq: number | undefined }[] = [];
  let wake = Promise.withResolvers<void>();
  const configured = Object.fromEntries(names.map((name) => [name, { url: `http://${name}:9220/jsonrpc` }]));
  const peers = createPeers({
    ledger: { peers: () => [], savePeer: async () => undefined },
    configured,
    clock,
    log: silent,
    self: 'switch',
  });
  let seq = 0;
  const announcer = createAnnouncer({
    self: () => {
      seq += 1;
      return announceOf('switch', { seq });
    },
    peers,
    client: {
      send(peer, message) {
        const { session, seq: said } = decodeAnnounce(message.data);
        sent.push({ to: peer.name, contextId: session.contextId, seq: said });
        const reply = send(sent.length);
        const over = wake;
        reply.then(
          () => setImmediate(over.resolve),
          () => setImmediate(over.resolve),
        );
        return reply;
      },
    },
    clock,
    log: silent,
    metrics: createMetrics({ profile: 'switch', peers: names, callers: [], defaultMetrics: false }),
    random: () => 1,
  });
  t.after(() => announcer.close());
  return {
    announcer,
    peers,
    clock,
    sent,
    /** Does something and waits until the answer that it leads to has been handled. */
    async until(act: () => void) {
      wake = Promise.withResolvers();
      act();
      await wake.promise;
    },
  };
}

const answer = async (name: string): ReturnType<Send> => ({
  kind: 'message',
  text: '',
  data: [encodeAnnounce(announceOf(name))],
});
const refused = async (): ReturnType<Send> => {
  throw new FleetError('PEER_UNREACHABLE', 'connection refused');
};

describe('the announcer', () => {
  it('announces at start, in the context of the peer addressed, and learns from the answer', async (t) => {
    const { announcer, peers, sent, until } = setUp(t, () => answer('neo'));
    await until(() => announcer.start());
    announcer.start();
    assert.deepEqual(sent, [{ to: 'neo', contextId: 'handshake:hermes-neo', seq: 1 }]);
    assert.equal(peers.get('neo')?.announce?.worker.agentId, 'neo');
  });

  it('tries again with backoff until it is answered, then as a heartbeat of a third of the ttl', async (t) => {
    const { announcer, clock, sent, until } = setUp(t, (n) => (n < 3 ? refused() : answer('neo')));
    await until(() => announcer.start());
    await until(() => clock.advance(500));
    await until(() => clock.advance(1_000));
    assert.equal(sent.length, 3);
    clock.advance(29_999);
    assert.equal(sent.length, 3);
    await until(() => clock.advance(1));
    assert.equal(sent.length, 4);
  });

  it('announces a change once a second at most', async (t) => {
    const { announcer, clock, sent, until } = setUp(t, () => answer('neo'));
    await until(() => announcer.start());
    for (let i = 0; i < 5; i += 1) announcer.changed();
    assert.equal(sent.length, 1);
    await until(() => clock.advance(1_000));
    assert.equal(sent.length, 2);
  });

  it('does not believe a peer that answers for another', async (t) => {
    const { announcer, peers, until } = setUp(t, () => answer('trinity'), ['neo', 'trinity']);
    await until(() => announcer.start());
    assert.equal(peers.get('neo')?.announce, undefined);
  });

  it('takes an answer without an announce, or with a broken one, for what it is', async (t) => {
    const { announcer, peers, clock, until } = setUp(t, async (n) => ({
      kind: 'message',
      text: 'hello',
      data: n === 1 ? [] : [{ type: 'SESSION_ANNOUNCE' }],
    }));
    await until(() => announcer.start());
    await until(() => clock.advance(30_000));
    assert.equal(peers.get('neo')?.announce, undefined);
  });

  it('stops at once, also while a peer does not answer', async () => {
    const { createServer } = await import('node:http');
    const deaf = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    const address = deaf.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const client = createA2AClient({ clock: systemClock, log: silent, extensions: [HANDSHAKE_EXTENSION] });
    const announcer = createAnnouncer({
      self: () => announceOf('switch'),
      peers: createPeers({
        ledger: { peers: () => [], savePeer: async () => undefined },
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
    await announcer.close();
    announcer.changed();
    deaf.closeAllConnections();
    deaf.close();
  });
});
