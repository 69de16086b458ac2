import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { peerOf, prosePeer } from '@hermes-fleet/peers/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { deadline, hasCode, tempDir } from '@hermes-fleet/protocol/testing';
import { folderContexts } from '../../testing/folder-contexts.ts';
import { freePort } from '../../testing/free-port.ts';
import { ASKED, openDeletions } from '../../testing/open-deletions.ts';
import type { AgentContexts } from './context-deletions.ts';

const DAY_MS = 86_400_000;

test(
  'a removal that fails is tried again, and does not hold up what the caller is told',
  deadline,
  async (t) => {
    const contexts = folderContexts(tempDir(t));
    contexts.failures = 2;
    const { deletions, ledger, clock, log, complete } = await openDeletions(t, { contexts });
    const first = await deletions.delete(ASKED);
    assert.deepEqual([first.removed, first.tasks], [undefined, 1]);
    assert.deepEqual(await deletions.delete(ASKED), first);
    await assert.rejects(deletions.delete({ ...ASKED, caller: 'stranger' }), hasCode('TASK_NOT_FOUND'));
    // Backoff waits half of its limit at least: 500 ms, then 1000.
    clock.advance(499);
    assert.equal(contexts.removals.length, 1);
    clock.advance(1);
    await clock.armed(1_000);
    assert.equal(contexts.removals.length, 2);
    clock.advance(1_000);
    await complete;
    assert.deepEqual(ledger.contexts.deletions(), []);
    assert.deepEqual(contexts.removals.at(-1), ['c', { results: 'keep' }]);
    assert.equal(
      log.entries.filter(({ message }) => /files of a deleted context not removed/.test(message)).length,
      2,
    );
  },
);

test('what another process keeps in the ledger holds up neither files nor peers', deadline, async (t) => {
  const contexts = folderContexts(tempDir(t));
  const { file, deletions, ledger, clock, log, complete } = await openDeletions(t, {
    contexts,
    sentTo: ['stock'],
    peers: [prosePeer('stock')],
  });
  const reader = new DatabaseSync(file, { readOnly: true });
  t.after(() => reader.isOpen && reader.close());
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM tasks').get();
  const first = await deletions.delete(ASKED);
  assert.deepEqual(
    [first.purged, first.removed, first.peers[0]?.state],
    [false, { files: false, result: 'none' }, 'unsupported'],
  );
  assert.deepEqual(await deletions.delete(ASKED), first);
  const warnings = () =>
    log.entries.filter(({ message }) => /left in the ledger is not removed/.test(message));
  assert.equal(warnings().length, 1);
  await clock.armed(500);
  clock.advance(500);
  await clock.armed(1_000);
  assert.equal(warnings().length, 2);
  reader.close();
  clock.advance(1_000);
  await complete;
  assert.deepEqual([ledger.contexts.deletions(), contexts.removals.length], [[], 1]);
});

test('a removal that takes long leaves the deletion pending', deadline, async (t) => {
  const removal = Promise.withResolvers<Awaited<ReturnType<AgentContexts['remove']>>>();
  const begun = Promise.withResolvers<void>();
  const contexts: AgentContexts = {
    remove: () => {
      begun.resolve();
      return removal.promise;
    },
  };
  const { deletions, ledger, clock } = await openDeletions(t, { contexts });
  const asked = deletions.delete(ASKED);
  await begun.promise;
  clock.advance(8_000);
  assert.equal((await asked).removed, undefined);
  removal.resolve({ files: true, result: 'merged' });
  await deletions.stop();
  assert.deepEqual(ledger.contexts.deletions(), []);
});

test(
  'a peer that never answers is dropped after the retention, with an error in the log',
  deadline,
  async (t) => {
    const gone = peerOf('neo', {
      endpoint: { name: 'neo', url: `http://127.0.0.1:${await freePort()}/jsonrpc` },
    });
    const { deletions, ledger, clock, log, complete } = await openDeletions(t, {
      sentTo: ['neo', 'unknown'],
      peers: [gone],
    });
    const { peers } = await deletions.delete(ASKED);
    assert.deepEqual(
      peers.map(({ peer, state, detail }) => [peer, state, detail]),
      [
        ['neo', 'pending', 'neo does not answer (ECONNREFUSED)'],
        ['unknown', 'pending', 'unknown is not known as a peer now'],
      ],
    );
    const errors = () => log.entries.filter(({ level }) => level === 'error');
    clock.advance(30 * DAY_MS);
    await clock.armed(1_000);
    assert.deepEqual([ledger.contexts.deletions().length, errors().length], [1, 0]);
    clock.advance(1_000);
    await complete;
    assert.deepEqual(ledger.contexts.deletions(), []);
    assert.deepEqual(
      errors()
        .map(({ fields }) => 'peer' in fields && fields.peer)
        .sort(),
      ['neo', 'unknown'],
    );
  },
);

test('a peer without the handshake is named, and not asked', deadline, async (t) => {
  const { deletions, ledger } = await openDeletions(t, { sentTo: ['stock'], peers: [prosePeer('stock')] });
  const { peers, removed } = await deletions.delete(ASKED);
  assert.deepEqual(removed, { files: false, result: 'none' });
  assert.equal(peers[0]?.state, 'unsupported');
  assert.match(
    peers[0]?.detail ?? '',
    /^stock does not speak the handshake: have its operator delete context c$/,
  );
  assert.deepEqual(ledger.contexts.deletions(), []);
});

test(
  'a gateway that stops takes no deletion, and leaves what is not done to the next start',
  deadline,
  async (t) => {
    const contexts = folderContexts(tempDir(t));
    contexts.failures = 1;
    const { deletions, ledger, clock, state } = await openDeletions(t, { contexts });
    await deletions.delete(ASKED);
    await deletions.stop();
    assert.equal(clock.timers, 0);
    assert.equal(ledger.contexts.deletions().length, 1);
    state.closed = new FleetError('SHUTTING_DOWN', 'switch is stopping');
    await assert.rejects(deletions.delete(ASKED), hasCode('SHUTTING_DOWN'));
  },
);

const unsure = (): never => {
  throw new FleetError('STORE_UNAVAILABLE', 'the disk did not answer in time');
};

for (const [what, answer] of [
  ['failed', unsure],
  ['found nothing more', () => undefined],
] as const)
  test(
    `a deletion whose recording ${what} after it was complete leaves the context's new life alone`,
    deadline,
    async (t) => {
      const contexts = folderContexts(tempDir(t));
      const recorded: string[] = [];
      const { deletions, ledger, clock, work } = await openDeletions(t, {
        contexts,
        ledger: (real) => ({
          record: async (contextId, progress) => {
            await real.record(contextId, progress);
            recorded.push(contextId);
            return answer();
          },
        }),
      });
      const { removed } = await deletions.delete(ASKED);
      assert.deepEqual(ledger.contexts.deletions(), []);
      assert.equal(clock.timers, answer === unsure ? 1 : 0);
      assert.equal(removed?.result, answer === unsure ? undefined : 'none');
      await work('c', 'new');
      clock.advance(DAY_MS);
      await deletions.stop();
      assert.deepEqual([contexts.removals.length, recorded, clock.timers], [1, ['c'], 0]);
      assert.equal(ledger.get('task of new')?.contextId, 'c');
    },
  );

test(
  'a repeat goes on with a deletion whose first request failed after it was recorded',
  deadline,
  async (t) => {
    const contexts = folderContexts(tempDir(t));
    let failures = 1;
    const { deletions, ledger } = await openDeletions(t, {
      contexts,
      ledger: (real) => ({
        delete: async (request) => {
          const deletion = await real.delete(request);
          return failures-- > 0 ? unsure() : deletion;
        },
      }),
    });
    await assert.rejects(deletions.delete(ASKED), hasCode('STORE_UNAVAILABLE'));
    assert.deepEqual([ledger.contexts.deletions().length, contexts.removals.length], [1, 0]);
    assert.equal((await deletions.delete(ASKED)).removed?.result, 'none');
    assert.deepEqual([ledger.contexts.deletions(), contexts.removals.length], [[], 1]);
  },
);
