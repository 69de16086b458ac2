import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  type ProfileOptions,
  profile,
  type TestProfile,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import type { Ledger, NewTask } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import { readDispatch } from '@hermes-fleet/protocol/handshake';
import { type Log, silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { hasCode } from '@hermes-fleet/protocol/testing';
import { type AcceptNewOptions, acceptNew } from './accept-new.ts';

type Accept = Ledger['accept'];

/** A ledger whose `accept` a test replaces. */
function accepting(): { ledger: (real: Ledger) => Ledger; by?: (real: Accept) => Accept } {
  const replaced: ReturnType<typeof accepting> = {
    ledger: (real) => ({
      ...real,
      accept: (...args) => (replaced.by ? replaced.by(real.accept) : real.accept)(...args),
    }),
  };
  return replaced;
}

/** Fails as the ledger does: when the commit of the turn is over. */
const failing =
  (code: FleetError['code']): Accept =>
  () =>
    new Promise((_resolve, reject) => {
      setImmediate(() => reject(new FleetError(code, 'not stored')));
    });

function listening(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const take = (_fields: object, line: string): void => void lines.push(line);
  return { log: { ...silentLog, info: take, warn: take, error: take }, lines };
}

/** Nothing is reserved, counted or left of a task that was not stored, and the next one runs. */
async function assertNoTrace(neo: TestProfile, known: readonly string[] = []): Promise<void> {
  assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, known.length);
  assert.deepEqual(
    [neo.gateway.activeTasks(), neo.gateway.queuedTasks()],
    [known.length, 0],
    'running and waiting',
  );
  assert.equal(neo.gateway.spending.view().profile.reserved, 0);
  const counted = (await neo.metrics())
    .split('\n')
    .filter((line) =>
      /^fleet_(task_admissions_total|tasks_total|dispatch_overhead_seconds_count)\b.* [1-9]/.test(line),
    );
  assert.equal(counted.length, known.length === 0 ? 0 : 1, counted.join('\n'));
}

const FAILURES: [what: string, by: Accept, code: FleetError['code']][] = [
  ['the store is not available', failing('STORE_UNAVAILABLE'), 'STORE_UNAVAILABLE'],
  ['its context is being deleted', failing('CONTEXT_IN_USE'), 'CONTEXT_IN_USE'],
  ['the ledger is closed', failing('SHUTTING_DOWN'), 'SHUTTING_DOWN'],
];

describe('a dispatch that is not stored', () => {
  const budgeted = { task_id: 'lost', token_budget: 4_000 };
  const acted: string[] = [];
  const savesAndActs: ProfileOptions = {
    savesBeforeEffects: true,
    async script({ id }, { checkpoint, reportEvent }) {
      const reported = reportEvent({ type: 'progress', data: { step: 1 } });
      await Promise.all([reported, checkpoint.save({ step: 1 })]);
      acted.push(id);
      return DONE;
    },
  };
  const OPTIONS: [what: string, options: ProfileOptions][] = [
    ['', {}],
    [', whose executor is free of effects', { isFreeOfEffects: true }],
    [
      ', whose free executor fails',
      { isFreeOfEffects: true, script: () => Promise.reject(new Error('bug')) },
    ],
    [', whose executor saves before it acts', savesAndActs],
  ];
  for (const [what, by, code] of FAILURES)
    for (const [how, options] of OPTIONS)
      it(`because ${what}${how}, leaves no trace, and may be sent again`, async (t) => {
        const { log, lines } = listening();
        const accept = accepting();
        const neo = await profile(t, { ...options, ledger: accept.ledger, log });
        accept.by = () => by;
        await assert.rejects(neo.send(dispatching(budgeted)), hasCode(code));
        // A run that began ahead ends in this turn.
        await new Promise(setImmediate);
        await assertNoTrace(neo);
        assert.deepEqual(lines, []);
        const isAhead = options.isFreeOfEffects || options.savesBeforeEffects;
        if (!isAhead) assert.deepEqual(neo.runs, []);
        assert.deepEqual(acted.splice(0), []);
        delete accept.by;
        const id = await neo.send(dispatching(budgeted));
        await neo.result(id);
        assert.deepEqual(neo.events(id).slice(0, 3), ['submitted', 'queued', 'started']);
        assert.equal(neo.gateway.activeTasks(), 0);
        if (options === savesAndActs) assert.deepEqual(acted.splice(0), [id]);
      });

  it('leaves the queue if it waited there', async (t) => {
    const accept = accepting();
    const neo = await profile(t, {
      script: untilAborted,
      ledger: accept.ledger,
      fleet: { limits: { max_concurrent_tasks: 1, queue_depth: 1 } },
    });
    const first = await neo.send(dispatching());
    await neo.event(first, 'started');
    accept.by = () => failing('STORE_UNAVAILABLE');
    for (let times = 0; times < 3; times += 1)
      await assert.rejects(neo.send(dispatching(budgeted)), hasCode('STORE_UNAVAILABLE'));
    await assertNoTrace(neo, [first]);
    delete accept.by;
    const next = await neo.send(dispatching());
    assert.equal(neo.task(next).state, 'queued');
    await neo.gateway.cancel(first, CALLER);
    await neo.event(next, 'started');
    assert.deepEqual(neo.runs, [first, next]);
  });

  it('and had found a full queue, keeps no tokens', async (t) => {
    const accept = accepting();
    const neo = await profile(t, {
      script: untilAborted,
      ledger: accept.ledger,
      fleet: { limits: { max_concurrent_tasks: 1, queue_depth: 1 } },
    });
    await neo.send(dispatching());
    accept.by = () => failing('STORE_UNAVAILABLE');
    // They find room for one of them, and the others find none when they reserve it.
    const sent = Array.from({ length: 3 }, () => neo.send(dispatching({ token_budget: 4_000 })));
    for (const { status } of await Promise.allSettled(sent)) assert.equal(status, 'rejected');
    assert.equal(neo.gateway.spending.view().profile.reserved, 0);
    assert.equal(neo.gateway.queuedTasks(), 0);
  });

  it('because its key is taken after all, is the known task', async (t) => {
    const accept = accepting();
    const neo = await profile(t, { ledger: accept.ledger });
    const known = await neo.send(dispatching());
    await neo.result(known);
    accept.by = () => async () => ({ task: neo.task(known), created: false });
    assert.equal(await neo.send(dispatching(budgeted)), known);
    assert.deepEqual(neo.runs, [known]);
    assert.equal(neo.gateway.spending.view().profile.reserved, 0);
    assert.deepEqual([neo.gateway.activeTasks(), neo.gateway.queuedTasks()], [0, 0]);
  });

  it('because it is read after its accept_until, leaves no trace', async (t) => {
    const neo = await profile(t);
    const routing = { accept_until: '2020-01-01T00:00:00Z' };
    await assert.rejects(neo.send(dispatching(budgeted, { routing })), hasCode('DISPATCH_EXPIRED'));
    await assertNoTrace(neo);
    assert.deepEqual(neo.runs, []);
  });

  it('because its admission fails after a shutdown, is refused', async () => {
    const over = new FleetError('SHUTTING_DOWN', 'over');
    const options: AcceptNewOptions = {
      profile: 'neo',
      versions: ['2.0'],
      ledger: { accept: () => assert.fail('it is stored') },
      log: silentLog,
      destinationOf: () => assert.fail('bug'),
      tier: () => 'sonnet',
      closing: AbortSignal.abort(over),
    };
    const dispatch = { type: 'TASK_DISPATCH', protocol_version: '2.0', task: { task_id: 'k' }, brief: 'b' };
    const named = { id: 'i', contextId: 'c', caller: CALLER.name, key: 'k', fingerprint: 'f' };
    const task: NewTask = { ...named, message: {}, dispatch };
    const arrival = { task, reading: readDispatch(dispatch, ['2.0']), caller: CALLER, receivedAt: 0 };
    await assert.rejects(acceptNew(options, arrival), over);
  });
});

describe('while a dispatch is being stored', () => {
  /** Holds the next acceptance until the gate opens. */
  function held() {
    const accept = accepting();
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    accept.by =
      (real) =>
      async (...args) => {
        begun.resolve();
        await gate.promise;
        return real(...args);
      };
    return { accept, begun: begun.promise, open: () => gate.resolve() };
  }

  it('its executor does not begin', async (t) => {
    const { accept, begun, open } = held();
    const neo = await profile(t, {
      ledger: accept.ledger,
      fleet: { limits: { max_concurrent_tasks: 2 } },
    });
    const sent = neo.send(dispatching());
    await begun;
    // Another task runs meanwhile, so this one has had the time.
    delete accept.by;
    const other = await neo.send(dispatching());
    await neo.result(other);
    assert.deepEqual(neo.runs, [other]);
    open();
    const id = await sent;
    await neo.result(id);
    assert.deepEqual(neo.runs, [other, id]);
  });

  it('its deadline may pass in the queue: it ends blocked', async (t) => {
    const { accept, begun, open } = held();
    const neo = await profile(t, {
      script: untilAborted,
      ledger: (real) => accept.ledger(real),
      fleet: { limits: { max_concurrent_tasks: 1 } },
    });
    const hold = accept.by;
    delete accept.by;
    const first = await neo.send(dispatching());
    await neo.event(first, 'started');
    if (hold) accept.by = hold;
    const deadline = new Date(Date.now() + 300).toISOString();
    const sent = neo.send(dispatching({}, { deadline }));
    await begun;
    const queued = (): number => neo.gateway.queuedTasks();
    while (queued() > 0) await systemClock.sleep(20);
    open();
    assert.deepEqual(
      (await neo.result(await sent)).unmet?.map(({ kind }) => kind),
      ['deadline'],
    );
    assert.deepEqual(neo.runs, [first]);
  });
});

describe('a task that was accepted just now', () => {
  it('has no past that the ledger is asked for', async (t) => {
    const asked: string[] = [];
    const ask = <T>(what: string, answer: T): T => {
      asked.push(what);
      return answer;
    };
    const neo = await profile(t, {
      script: async () => DONE,
      ledger: (real) => ({
        ...real,
        loadCheckpoint: (id) => ask('checkpoint', real.loadCheckpoint(id)),
        questions: (id) => ask('questions', real.questions(id)),
        get: (id) => ask('get', real.get(id)),
        tokens: { ...real.tokens, entries: (id) => ask('tokens', real.tokens.entries(id)) },
      }),
    });
    await neo.result(await neo.send(dispatching()));
    assert.deepEqual(asked, []);
  });
});
