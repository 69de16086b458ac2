import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { deadline, fleetErrorOf, tempDir } from '@hermes-fleet/protocol/testing';
import {
  deleteOverHttp,
  filesWith,
  folderContexts,
  watchedDeletions,
} from '../../testing/folder-contexts.ts';
import { dispatching } from '../../testing/messages.ts';
import { relayFleet } from '../../testing/relay-fleet.ts';
import { ORCHESTRATES, OWN, resultsOf, tasksAt } from '../../testing/subtask-fleet.ts';
import type { TestProfile } from '../../testing/test-profile.ts';
import { introduce, sending, toolFleet } from '../../testing/tool-fleet.ts';

const SECRET = 'a-secret-in-the-brief';
const BRIEF = { brief: `keep ${SECRET}` };
const CONTEXT = 'the/context of ünusual name';

/** switch, which relays to neo; both keep briefs in their ledgers and in folders. */
async function pair(t: TestContext, o: { routes?: () => void; own?: boolean } = {}) {
  const dirs = { switch: tempDir(t), neo: tempDir(t) };
  const contexts = { switch: folderContexts(dirs.switch), neo: folderContexts(dirs.neo) };
  const watched = watchedDeletions();
  const { orchestrator, worker } = await relayFleet(
    t,
    {
      neo: { script: contexts.neo.script, contexts: contexts.neo, ...(o.routes ? { routes: o.routes } : {}) },
    },
    { contexts: contexts.switch, ledger: watched.wrap },
  );
  const neo = worker('neo');
  await orchestrator.serve();
  const secrets = (): string[] => filesWith(SECRET, orchestrator.dir, neo.dir, dirs.switch, dirs.neo);
  return { orchestrator, neo, contexts, secrets, complete: watched.complete };
}

const relayed = async ({ orchestrator }: Awaited<ReturnType<typeof pair>>): Promise<string> => {
  const id = await orchestrator.send({
    ...dispatching({}, { ...BRIEF, routing: { target: 'neo' } }),
    contextId: CONTEXT,
  });
  assert.equal((await orchestrator.result(id)).status, 'done');
  return id;
};

test(
  'a deleted context leaves nothing of its brief and result, here and at the peer that did the work',
  deadline,
  async (t) => {
    const fleet = await pair(t);
    const { orchestrator, neo, contexts, secrets } = fleet;
    const id = await relayed(fleet);
    const other = await orchestrator.send({
      ...dispatching({}, { brief: 'other', routing: { target: 'neo' } }),
      contextId: 'other',
    });
    await orchestrator.result(other);
    assert.ok(secrets().length >= 3, secrets().join());
    const totals = [orchestrator.ledger.figures.totals(), neo.ledger.figures.totals()];
    assert.deepEqual(await deleteOverHttp(orchestrator, CONTEXT), {
      status: 200,
      body: {
        context_id: CONTEXT,
        tasks: 1,
        files: false,
        result: 'none',
        peers: [{ peer: 'neo', context_id: CONTEXT, state: 'deleted' }],
      },
    });
    assert.deepEqual(secrets(), []);
    assert.equal(orchestrator.ledger.get(id), undefined);
    assert.deepEqual([tasksAt(orchestrator), tasksAt(neo)], [1, 1]);
    assert.deepEqual([orchestrator.ledger.figures.totals(), neo.ledger.figures.totals()], totals);
    assert.deepEqual(contexts.neo.removals, [[CONTEXT, { results: 'keep' }]]);
    assert.equal((await deleteOverHttp(orchestrator, CONTEXT, '?results=delete')).body.tasks, 0);
    assert.equal((await deleteOverHttp(orchestrator, CONTEXT)).status, 404);
    await relayed(fleet);
    assert.equal(tasksAt(neo), 2);
  },
);

test('results=delete is passed on', deadline, async (t) => {
  const fleet = await pair(t);
  await relayed(fleet);
  assert.equal((await deleteOverHttp(fleet.orchestrator, CONTEXT, '?results=delete')).status, 200);
  for (const { removals } of Object.values(fleet.contexts))
    assert.deepEqual(
      removals.map(([, { results }]) => results),
      ['delete'],
    );
});

/** Prunes all tasks of a profile, which it need not have published. */
async function pruneAll({ ledger }: TestProfile): Promise<void> {
  await ledger.outbox.advance(ledger.outbox.read(ledger.outbox.cursor(), 10_000).at(-1)?.seq ?? 0);
  await ledger.prune(Date.now() + 1_000, 100);
}

test(
  'results are deleted everywhere for their caller after the tasks were pruned everywhere',
  deadline,
  async (t) => {
    const fleet = await pair(t);
    const { orchestrator, neo, contexts, secrets } = fleet;
    await relayed(fleet);
    for (const each of [orchestrator, neo]) await pruneAll(each);
    assert.deepEqual([tasksAt(orchestrator), tasksAt(neo)], [0, 0]);
    const stranger = await deleteOverHttp(neo, CONTEXT, '?results=delete');
    assert.deepEqual([stranger.status, stranger.body.error.code], [404, 'TASK_NOT_FOUND']);
    assert.notDeepEqual(secrets(), []);
    const { status, body } = await deleteOverHttp(orchestrator, CONTEXT, '?results=delete');
    assert.deepEqual([status, body.tasks], [200, 0]);
    assert.deepEqual(body.peers, [{ peer: 'neo', context_id: CONTEXT, state: 'deleted' }]);
    assert.deepEqual(contexts.neo.removals, [[CONTEXT, { results: 'delete' }]]);
    assert.deepEqual(secrets(), [], 'what pruned tasks left in the files of the ledgers is gone too');
    for (const each of [orchestrator, neo])
      assert.deepEqual(each.ledger.contexts.remembered('', 1, { before: 0 }), []);
    assert.equal((await deleteOverHttp(orchestrator, CONTEXT, '?results=delete')).status, 404);
  },
);

test('a refusal of the peer is reported, and the deletion is complete', deadline, async (t) => {
  const fleet = await pair(t);
  await relayed(fleet);
  const { orchestrator, neo } = fleet;
  const foreign = await neo.send({ ...dispatching(), contextId: CONTEXT });
  await neo.result(foreign);
  const { body } = await deleteOverHttp(orchestrator, CONTEXT);
  assert.deepEqual(body.peers, [
    {
      peer: 'neo',
      context_id: CONTEXT,
      state: 'refused',
      detail: 'neo has or had tasks of another caller in it',
    },
  ]);
  assert.equal(tasksAt(neo), 2);
  await relayed(fleet);
});

test('a peer passes the deletion on to the peers that it sent work to', deadline, async (t) => {
  const of = await toolFleet(t, {
    switch: { fleet: ORCHESTRATES },
    neo: { script: sending(() => of('neo'), { agent: 'trinity', ...BRIEF }) },
    trinity: {},
  });
  const sent = { ...dispatching({}, { brief: SECRET, routing: { target: 'neo' } }), contextId: 'c' };
  const id = await of('switch').send(sent);
  assert.equal((await of('switch').result(id)).status, 'done');
  const members = [of('switch'), of('neo'), of('trinity')];
  assert.deepEqual(members.map(tasksAt), [1, 1, 1]);
  const { body } = await deleteOverHttp(of('switch'), 'c');
  assert.deepEqual(body.peers, [{ peer: 'neo', context_id: 'c', state: 'deleted' }]);
  assert.deepEqual(members.map(tasksAt), [0, 0, 0]);
  assert.deepEqual(filesWith(SECRET, ...members.map(({ dir }) => dir)), []);
});

test('a peer that is down is asked again until it has deleted the context', deadline, async (t) => {
  const fleet = await pair(t);
  const { orchestrator, neo, secrets, complete } = fleet;
  await relayed(fleet);
  await neo.crash();
  const first = await deleteOverHttp(orchestrator, CONTEXT);
  assert.equal(first.status, 200);
  assert.equal(first.body.peers[0].state, 'pending');
  assert.match(first.body.peers[0].detail, /^neo does not answer \(ECONNREFUSED\)$/);
  assert.deepEqual((await deleteOverHttp(orchestrator, CONTEXT)).body.tasks, 1);
  const next = { ...dispatching(), contextId: CONTEXT };
  assert.equal((await fleetErrorOf(orchestrator.send(next))).code, 'CONTEXT_IN_USE');
  assert.notDeepEqual(secrets(), []);
  await neo.restart();
  await complete;
  assert.deepEqual(secrets(), []);
  assert.deepEqual(orchestrator.ledger.contexts.deletions(), []);
});

test('a peer that has still files to remove is asked until it has removed them', deadline, async (t) => {
  const fleet = await pair(t);
  const { orchestrator, neo, contexts, secrets, complete } = fleet;
  await relayed(fleet);
  contexts.neo.failures = 1;
  const { body } = await deleteOverHttp(orchestrator, CONTEXT);
  assert.deepEqual(body.peers, [
    { peer: 'neo', context_id: CONTEXT, state: 'pending', detail: 'at neo: its files pending' },
  ]);
  assert.notDeepEqual(secrets(), []);
  await complete;
  assert.deepEqual([secrets(), neo.ledger.contexts.deletions()], [[], []]);
  await relayed(fleet);
  assert.equal(tasksAt(neo), 1, 'the context can be used again at both');
});

test('a crash between the erasure and the rest is made good by the next start', deadline, async (t) => {
  const fleet = await pair(t);
  const { orchestrator, neo, contexts, secrets, complete } = fleet;
  await relayed(fleet);
  const own = await orchestrator.ledger.contexts.delete({
    contextId: CONTEXT,
    caller: 'operator',
    results: 'keep',
  });
  assert.equal(own.removed, undefined);
  await orchestrator.crash();
  assert.deepEqual(contexts.switch.removals, []);
  await orchestrator.restart();
  await complete;
  assert.equal(contexts.switch.removals.length, 1);
  assert.equal(tasksAt(neo), 0);
  assert.deepEqual(secrets(), []);
});

test(
  'a peer without the route is named with what to do, and the deletion is complete',
  deadline,
  async (t) => {
    const fleet = await pair(t, { routes: () => undefined });
    await relayed(fleet);
    const { body } = await deleteOverHttp(fleet.orchestrator, CONTEXT);
    const [{ state, detail }] = body.peers;
    assert.equal(state, 'unsupported');
    assert.match(
      detail,
      /^neo answers HTTP 404, .*upgrade it, or have its operator delete context the\/context/,
    );
    assert.deepEqual(fleet.orchestrator.ledger.contexts.deletions(), []);
  },
);

test('the context of subtasks is deleted with the context of their task', deadline, async (t) => {
  const dirs = { switch: tempDir(t), neo: tempDir(t) };
  const atNeo = folderContexts(dirs.neo);
  const { orchestrator, worker } = await relayFleet(
    t,
    { neo: { script: atNeo.script, contexts: atNeo } },
    { fleet: ORCHESTRATES, script: sending(() => orchestrator, { agent: 'neo', ...BRIEF }) },
  );
  const neo = worker('neo');
  await orchestrator.serve();
  await introduce(orchestrator, [neo]);
  const id = await orchestrator.send({ ...dispatching({}, OWN), contextId: 'c' });
  assert.equal((await resultsOf(orchestrator, id))[0]?.ok, true);
  assert.equal(tasksAt(neo), 1);
  const { body } = await deleteOverHttp(orchestrator, 'c');
  const at = orchestrator.ledger.contexts.subtasksContextId('operator', 'c');
  assert.deepEqual(body.peers, [{ peer: 'neo', context_id: at, state: 'deleted' }]);
  assert.equal(tasksAt(neo), 0);
  assert.deepEqual(filesWith(SECRET, orchestrator.dir, neo.dir, ...Object.values(dirs)), []);
});
