import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentCard } from '@hermes-fleet/a2a';
import { HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { encodeAnnounce } from '@hermes-fleet/protocol/handshake';
import type { Log } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { answer, noCard, refused, testAnnouncer } from '../../testing/announcer.ts';
import { announceOf, cardOf } from '../../testing/index.ts';

describe('announcing to a peer', () => {
  const card = (extension: string | undefined, versions?: string[]): Promise<AgentCard> =>
    Promise.resolve(cardOf(extension, versions));

  it('reads its agent card first, and again after its lifetime', async (t) => {
    const { cards, peers, start, after } = testAnnouncer(t, () => answer('neo'));
    await start();
    assert.deepEqual(cards, ['http://neo:9220/.well-known/agent-card.json']);
    assert.deepEqual(peers.get('neo')?.card?.versions, ['2.0']);
    for (let i = 0; i < 4; i += 1) await after(30_000);
    assert.equal(cards.length, 2);
  });

  it('a peer without the extension gets no announce, and its card is read again', async (t) => {
    const logged: string[] = [];
    const log: Log = { ...silentLog, info: (_o, m) => void logged.push(m) };
    const { sent, cards, peers, announcer, start, after } = testAnnouncer(t, () => answer('neo'), {
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

  it('a peer whose card has disappeared gets announces once the last card has expired', async (t) => {
    for (const said of [card(undefined), card(HANDSHAKE_EXTENSION, ['3.0'])]) {
      const { sent, start, after } = testAnnouncer(t, () => answer('neo'), {
        card: (n) => (n === 1 ? said : noCard()),
      });
      await start();
      for (let i = 0; i < 3; i += 1) await after(30_000);
      assert.equal(sent.length, 0);
      await after(30_000);
      assert.equal(sent.length, 1);
    }
  });

  it('a peer with another major version gets no announce, and its card says why', async (t) => {
    const { sent, peers, start, after } = testAnnouncer(t, () => answer('neo'), {
      card: () => card(HANDSHAKE_EXTENSION, ['3.0']),
    });
    await start();
    await after(30_000);
    assert.deepEqual([sent.length, peers.get('neo')?.card?.versions], [0, ['3.0']]);
  });

  it('an unreadable card does not prevent the announce', async (t) => {
    const { sent, peers, start } = testAnnouncer(t, () => answer('neo'), { card: noCard });
    await start();
    assert.deepEqual([sent.length, peers.get('neo')?.card], [1, undefined]);
  });

  it('an unreachable peer is retried, beginning with its card', async (t) => {
    const { sent, cards, start, after } = testAnnouncer(t, () => answer('neo'), {
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
    it(`with versions ${ours} and ${theirs ?? 'no list'} it uses ${version}`, async (t) => {
      const { sent, start } = testAnnouncer(t, () => answer('neo'), {
        versions: ours,
        card: () => card(HANDSHAKE_EXTENSION, theirs),
        self: (seq) => announceOf('switch', { seq, protocolVersions: ours }),
      });
      await start();
      assert.equal(sent[0]?.version, version);
    });

  it('an empty list of versions in an announce is the same as no list', async (t) => {
    const { sent, start, after } = testAnnouncer(
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

  it('a peer that does not believe it is named in the log once, with the reason', async (t) => {
    const warned: [object, string][] = [];
    const log: Log = { ...silentLog, warn: (fields, message) => void warned.push([fields, message]) };
    const reasons = ['no', 'no', undefined, 'no', 'nobody', 'x'.repeat(9_999)];
    const { start, after, peers } = testAnnouncer(
      t,
      async (attempt) => {
        const reason = reasons[attempt - 1];
        const said = encodeAnnounce(announceOf('neo', { seq: attempt }));
        const data = [said, ...(reason === undefined ? [] : [{ accepted: false, reason }])];
        return { kind: 'message', text: '', data };
      },
      { log },
    );
    await start();
    for (let i = 0; i < 5; i += 1) await after(30_000);
    const reason = (text: string) => [{ peer: 'neo', reason: text }, 'a peer does not believe our announce'];
    assert.deepEqual(warned, [...[reason('no'), reason('no'), reason('nobody'), reason('x'.repeat(500))]]);
    assert.equal(peers.get('neo')?.announce?.seq, 6, 'its own announce counts all the same');
  });

  it('the announce of a live peer takes precedence over its card', async (t) => {
    const ours = ['2.1', '2.0'];
    const { sent, start, after } = testAnnouncer(
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
