import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkerRecord } from '@hermes-fleet/ledger';
import { announceOf, NOW } from '../../testing/index.ts';
import { JOIN, joining, plain, testRegistry } from '../../testing/registry.ts';
import { MAX_UNCONFIGURED } from './eviction.ts';
import { createWorkerDirectory } from './worker-directory.ts';

const AT = 'http://127.0.0.1:9240/jsonrpc';
const WORKER: WorkerRecord = {
  name: 'worker-7',
  digest: 'd7',
  token: 'presented-to-worker-7',
  url: AT,
  scopes: ['announce', 'join'],
  joinToken: 'a',
  joinedAt: NOW,
  leavingAt: undefined,
};

async function ground(t: Parameters<typeof testRegistry>[0], workers: readonly WorkerRecord[] = [WORKER]) {
  const directory = createWorkerDirectory({ workers: () => [...workers] });
  const tested = testRegistry(t);
  return { ...tested, directory, peers: await tested.restart({ ...JOIN, workers: directory }) };
}
const said = (seq: number, more: object = {}) => announceOf('worker-7', { seq, endpoint: AT, ...more });
const own = { name: 'worker-7', scopes: new Set(['announce', 'join']) };

describe('a worker that joined with a join token', () => {
  it('is a peer before its first announce, with a token of its own', async (t) => {
    const { peers } = await ground(t);
    const peer = peers.get('worker-7');
    assert.deepEqual([peer?.standing, peer?.announce], ['joined', undefined]);
    assert.deepEqual(peer?.endpoint, { name: 'worker-7', url: AT, token: 'presented-to-worker-7' });
    assert.equal(peers.isMember('worker-7'), true);
    assert.equal((await peers.record(said(1), own)).outcome, 'recorded');
    assert.equal(peers.get('worker-7')?.standing, 'joined');
  });

  it('does not count as live by what another peer of its name had announced before', async (t) => {
    const { peers, directory } = await ground(t, []);
    await peers.record(announceOf('worker-7', { seq: 4, ttlS: 9_000 }), plain('worker-7'));
    directory.put(WORKER);
    peers.admitted('worker-7');
    assert.deepEqual(
      [peers.get('worker-7')?.standing, peers.get('worker-7')?.announce],
      ['joined', undefined],
    );
    assert.equal((await peers.record(said(1), own)).outcome, 'recorded');
    directory.put({ ...WORKER, leavingAt: NOW });
    peers.admitted('worker-7');
    assert.equal(peers.get('worker-7')?.announce?.seq, 1, 'its own announce stays when it leaves');
  });

  it('has its place among peers that announce themselves, however many there are', async (t) => {
    const { peers, directory, clock } = await ground(t, []);
    for (let i = 0; i < MAX_UNCONFIGURED; i += 1) {
      const endpoint = `http://127.0.0.1:${10_000 + i}/jsonrpc`;
      await peers.record(announceOf(`worker-a${i}`, { endpoint, ttlS: 9_000 }), joining());
    }
    directory.put(WORKER);
    peers.admitted('worker-7');
    assert.ok(peers.get('worker-7'));
    clock.advance(1);
    const late = { endpoint: 'http://127.0.0.1:9999/jsonrpc', ttlS: 9_000 };
    await peers.record(announceOf('worker-late', late), joining());
    assert.ok(peers.get('worker-7'), 'a peer that comes later does not evict it');
    assert.equal(peers.list().length, MAX_UNCONFIGURED + 2);
  });

  it('speaks for itself alone, at the address that it proved', async (t) => {
    const { peers } = await ground(t);
    const lies: [
      what: string,
      announce: ReturnType<typeof said>,
      from: Parameters<typeof peers.record>[1],
    ][] = [
      ['another address', said(1, { endpoint: 'http://127.0.0.1:9241' }), own],
      ['another caller that may join', said(1), joining('tank')],
      ['another caller', said(1), plain('neo')],
      ['the shared token', said(1), plain('peer')],
      ['another name', announceOf('worker-1', { endpoint: AT }), own],
      ['a configured name', announceOf('neo', {}), own],
      ['its address, by another worker', announceOf('worker-1', { endpoint: AT }), joining('tank')],
    ];
    for (const [what, announce, from] of lies)
      assert.equal((await peers.record(announce, from)).outcome, 'refused', what);
    for (const from of [own, { name: 'worker-7' }])
      assert.equal((await peers.record(said(from === own ? 2 : 3), from)).outcome, 'recorded');
    assert.equal((await peers.record(announceOf('worker-7', { seq: 4 }), own)).outcome, 'recorded');
    assert.equal(peers.get('worker-7')?.standing, 'joined', 'also when it announces no address');
  });

  it('is joined after a restart, whatever the join policy became, and gone when it was removed', async (t) => {
    const { peers, directory, restart, ledger } = await ground(t);
    await peers.record(said(1), own);
    const again = await restart({ ...JOIN, endpoints: [], callers: {}, workers: directory });
    assert.deepEqual([again.get('worker-7')?.standing, again.get('worker-7')?.announce?.seq], ['joined', 1]);
    directory.remove('worker-7', 'worker-7 was revoked', { cutOff: true });
    again.removed('worker-7');
    assert.equal(again.get('worker-7'), undefined);
    assert.equal((await again.record(said(2), own)).outcome, 'recorded');
    assert.equal(again.get('worker-7')?.standing, 'known', 'as anybody with its name');
    assert.ok(ledger);
  });

  it('gets no new work while it leaves, and its membership ends with a reason', async (t) => {
    const { peers, directory, woken } = await ground(t);
    await peers.record(said(1), own);
    woken();
    const membership = peers.membership('worker-7');
    directory.put({ ...WORKER, leavingAt: NOW });
    peers.admitted('worker-7');
    assert.equal(peers.get('worker-7')?.leaving, true);
    assert.equal(peers.membership('worker-7'), membership, 'its tasks go on');
    assert.equal(membership?.aborted, false);
    const { ended } = directory.callerOf('d7') ?? {};
    directory.remove('worker-7', 'worker-7 has left', { cutOff: false });
    assert.match(String(membership?.reason.message), /worker-7 has left: dispatch the task again/);
    assert.equal(ended?.aborted, false);
    assert.equal(directory.callerOf('d7'), undefined);
    assert.equal(peers.membership('worker-7'), undefined);
    assert.equal(peers.membership('neo'), undefined);
  });
});
