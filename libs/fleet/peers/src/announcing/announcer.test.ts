import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import { HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { createMetrics } from '@hermes-fleet/service';
import { answer, nothingKept, refused, settled, testAnnouncer } from '../../testing/announcer.ts';
import { announceOf } from '../../testing/index.ts';
import { createPeerRegistry } from '../registry/peer-registry.ts';
import { createAnnouncer } from './announcer.ts';

describe('the announcer', () => {
  it('announces at start, in the context of the peer, and records the announce in the answer', async (t) => {
    const { announcer, peers, sent, start } = testAnnouncer(t, () => answer('neo'));
    await start();
    announcer.start();
    await settled();
    assert.deepEqual(sent, [
      { to: 'neo', contextId: 'handshake:hermes-neo', seq: 1, version: '2.0', ready: true },
    ]);
    assert.equal(peers.get('neo')?.announce?.worker.agentId, 'neo');
  });

  it('sends the same announce, with one seq, to every peer', async (t) => {
    const names = ['morpheus', 'neo', 'trinity'];
    const { sent, published, start, after } = testAnnouncer(t, (_n, to) => answer(to), { names, bus: true });
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

  it('retries the newest announce with backoff until it is answered', async (t) => {
    const { sent, start, after } = testAnnouncer(t, (n) => (n < 3 ? refused() : answer('neo')));
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

  it('announces changes at most once per second, also to a peer that it retries', async (t) => {
    const { announcer, sent, start, after } = testAnnouncer(
      t,
      (_n, to) => (to === 'neo' ? answer(to) : refused()),
      {
        names: ['neo', 'trinity'],
      },
    );
    await start();
    for (let i = 0; i < 5; i += 1) announcer.changed();
    await after(999);
    assert.ok(sent.every(({ seq }) => seq === 1));
    await after(1);
    const second = sent.filter(({ seq }) => seq === 2).map(({ to }) => to);
    assert.deepEqual(second, ['neo', 'trinity']);
    assert.equal(sent.filter(({ to }) => to === 'neo').length, 2);
  });

  it('announces a change of load at once and without measuring, but at most once per second', async (t) => {
    let measured = 0;
    let known = 1;
    const { announcer, sent, start, after } = testAnnouncer(t, () => answer('neo'), {
      self: (seq) => {
        measured += 1;
        return announceOf('switch', { seq });
      },
      asKnown: () => {
        known += 1;
        return announceOf('switch', { seq: known });
      },
    });
    await start();
    await after(2_000);
    announcer.loadChanged();
    announcer.loadChanged();
    await after(100);
    assert.deepEqual([sent.length, measured], [2, 1]);
    announcer.loadChanged();
    await after(999);
    assert.equal(sent.length, 2);
    await after(1);
    assert.deepEqual([sent.length, measured], [3, 1]);
    announcer.loadChanged();
    announcer.changed();
    await after(1_000);
    assert.deepEqual([sent.length, measured], [4, 2], 'another change is measured');
  });

  it('measures for its heartbeat however often the load changes', async (t) => {
    let measured = 0;
    const { announcer, start, after } = testAnnouncer(t, () => answer('neo'), {
      self: (seq) => {
        measured += 1;
        return announceOf('switch', { seq });
      },
      asKnown: () => announceOf('switch', { seq: 1_000 }),
    });
    await start();
    for (let passed = 0; passed < 90; passed += 10) {
      announcer.loadChanged();
      await after(10_000);
    }
    assert.ok(measured >= 3, `${measured} measurements in 90 s`);
  });

  it('retries while its own state cannot be measured', async (t) => {
    const { sent, start, after } = testAnnouncer(t, () => answer('neo'), {
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

  it('refuses the announce of a peer that answers under another name', async (t) => {
    const { peers, start } = testAnnouncer(t, () => answer('trinity'), { names: ['neo', 'trinity'] });
    await start();
    assert.equal(peers.get('neo')?.announce, undefined);
  });

  it('ignores an answer without a valid announce', async (t) => {
    const { peers, sent, start, after } = testAnnouncer(t, async (n) => ({
      kind: 'message',
      text: 'hello',
      data: n === 1 ? [] : [{ type: 'SESSION_ANNOUNCE' }],
    }));
    await start();
    await after(30_000);
    assert.equal(sent.length, 2);
    assert.equal(peers.get('neo')?.announce, undefined);
  });

  it('sends a farewell to every reached peer and to the bus, and nothing after it', async (t) => {
    const { announcer, sent, published, start, after, clock } = testAnnouncer(
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

  it('sends no farewell if it was never started', async (t) => {
    const { announcer, sent } = testAnnouncer(t, () => answer('neo'));
    await announcer.farewell();
    announcer.start();
    announcer.changed();
    await settled();
    await announcer.close();
    assert.equal(sent.length, 1);
  });

  it('sends a farewell while its workspace is measured', async (t) => {
    const { announcer, sent, published, start } = testAnnouncer(t, () => answer('neo'), {
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

  it('stops at once, and its farewell takes at most a second, while a peer does not answer', async () => {
    const deaf = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    const address = deaf.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [HANDSHAKE_EXTENSION] });
    const announcer = createAnnouncer({
      self: () => announceOf('switch'),
      peers: createPeerRegistry({
        ledger: nothingKept,
        configured: { neo: { url: `http://127.0.0.1:${port}/jsonrpc` } },
        clock: systemClock,
        log: silentLog,
        self: 'switch',
      }),
      client,
      clock: systemClock,
      log: silentLog,
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
