import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { until } from '@hermes-fleet/gateway/testing';
import { openLedger } from '@hermes-fleet/ledger';
import { peerOf } from '@hermes-fleet/peers/testing';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, recordingLog, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { type Answer, scriptedPeer } from '../testing/scripted-peer.ts';
import { createGivenUpTasks } from './given-up.ts';
import { encodeRelayState, INITIAL_STATE } from './relay-state.ts';

const DAY_MS = 86_400_000;
const canceled = (text: string): Answer => ({
  result: {
    id: 'r-1',
    contextId: 'c',
    status: { state: 'TASK_STATE_CANCELED', message: { parts: [{ text }] } },
  },
});
const rejected: Answer = { result: { id: 'r-1', contextId: 'c', status: { state: 'TASK_STATE_REJECTED' } } };
const working: Answer = { result: { id: 'r-1', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } };
const unknown: Answer = { error: { code: -32001, message: 'who?' } };
const over: Answer = { error: { code: -32002, message: 'over' } };

type Script = readonly (readonly [method: string, answer: Answer])[];

/** A task that ended while the peer `helper` had it, and the tries to cancel it there. */
async function setup(t: TestContext, script: Script, more: JsonObject = {}) {
  const { options, calls } = await scriptedPeer(t, script);
  const dir = tempDir(t, { closeFirst: () => ledger.close() });
  const clock = manualClock();
  const ledger = openLedger({
    file: join(dir, 'l.db'),
    profile: 'switch',
    clock,
    ids: systemIds,
    log: silentLog,
  });
  const log = recordingLog();
  /** A task that was given up while this peer had it. */
  const giveUp = async (at: string): Promise<string> => {
    const { task } = await ledger.accept({
      id: systemIds.uuid(),
      contextId: 'c',
      caller: 'operator',
      key: at === 'helper' ? 'mine' : at,
      fingerprint: 'f',
      message: {},
      dispatch: { type: 'TASK_DISPATCH', protocol_version: '2.0', task: { task_id: 'mine' }, brief: 'b' },
    });
    const current = {
      peer: at,
      messageId: 'm',
      contextId: 'c',
      payload: { type: 'TASK_DISPATCH', protocol_version: '2.0', task: { task_id: task.id }, ...more },
      startedAt: '2026-05-31T20:00:00Z',
      remoteTaskId: 'r-1',
      ...(more.text === undefined ? {} : { prose: true }),
    };
    const state = { ...INITIAL_STATE, current, givenUp: { at: clock.now() } };
    await ledger.saveCheckpoint(task.id, encodeRelayState(state));
    return task.id;
  };
  const id = await giveUp('helper');
  const peer = { ...peerOf('helper'), endpoint: options.endpoint, receivedAt: 0 };
  const known = { peer: true };
  const tasks = createGivenUpTasks({
    self: 'switch',
    ledger,
    peers: { get: () => (known.peer ? peer : undefined) },
    client: options.client,
    clock,
    log,
    random: () => 0,
  });
  t.after(() => tasks.stop());
  return {
    ledger,
    clock,
    log,
    tasks,
    known,
    id,
    giveUp,
    methods: () => calls.map(({ method }) => method),
    end: (taskId = id) => ledger.append(taskId, { type: 'error', data: {} }, { result: { status: 'error' } }),
    announce: () => {
      peer.receivedAt = clock.now();
    },
    /** Lets time pass, a second at a time, and each check end. */
    async pass(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1_000);
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      }
    },
  };
}

describe('a task that was given up is canceled at its peer', () => {
  it('not before it has ended here, and then by an announce of the millisecond in which it was given up', async (t) => {
    const made = await setup(t, [['CancelTask', canceled('stopped')]]);
    made.tasks.add(made.id);
    made.announce();
    await made.pass(5);
    assert.deepEqual(made.methods(), []);
    await made.end();
    await made.pass(2);
    assert.deepEqual(made.methods(), ['CancelTask']);
  });

  it('soon after an announce', async (t) => {
    const made = await setup(t, [['CancelTask', canceled('stopped')]]);
    await made.end();
    made.tasks.start();
    await made.pass(5);
    assert.deepEqual(made.methods(), [], 'it has not announced itself');
    made.announce();
    await made.pass(2);
    await until(() => made.ledger.lateResult(made.id) !== undefined);
    const { status, executed_by: by, task_id: taskId } = made.ledger.lateResult(made.id) ?? {};
    assert.deepEqual([status, by, taskId], ['error', 'helper', 'mine']);
    assert.ok(made.log.messages.includes('info: late result of a given-up task kept'));
  });

  it('at a silent peer too, again and again until it has ended there', async (t) => {
    const made = await setup(t, [
      ['CancelTask', working],
      ['CancelTask', over],
      ['GetTask', canceled('stopped')],
    ]);
    await made.end();
    made.tasks.start();
    await made.pass(14);
    assert.deepEqual(made.methods(), []);
    await made.pass(2);
    await until(() => made.methods().length === 1);
    await made.pass(40);
    await until(() => made.ledger.lateResult(made.id) !== undefined);
    assert.deepEqual(made.methods(), ['CancelTask', 'CancelTask', 'GetTask']);
  });

  for (const [what, script] of [
    [
      'does not know it',
      [
        ['CancelTask', unknown],
        ['GetTask', unknown],
      ],
    ],
    ['refused it', [['CancelTask', rejected]]],
  ] as const)
    it(`once, if the peer ${what}: nothing is kept`, async (t) => {
      const made = await setup(t, script);
      await made.end();
      made.tasks.start();
      await made.pass(16);
      await until(() => made.ledger.keptCheckpoints().length === 0);
      await made.pass(60);
      assert.equal(made.methods().length, script.length);
      assert.equal(made.ledger.lateResult(made.id), undefined);
    });

  it('while another peer hangs', async (t) => {
    const made = await setup(t, [
      ['CancelTask', 'silence'],
      ['CancelTask', canceled('stopped')],
    ]);
    await made.end();
    made.tasks.start();
    await made.pass(16);
    await until(() => made.methods().length === 1);
    const other = await made.giveUp('other');
    await made.end(other);
    made.tasks.add(other);
    await made.pass(16);
    await until(() => made.ledger.lateResult(other) !== undefined);
    assert.equal(made.ledger.lateResult(made.id), undefined);
  });

  it('with its text as the late result, if the peer is a prose peer', async (t) => {
    const made = await setup(t, [['CancelTask', canceled('I stopped.')]], { text: 'do it' });
    await made.end();
    made.tasks.start();
    await made.pass(16);
    await until(() => made.ledger.lateResult(made.id) !== undefined);
    assert.equal(made.ledger.lateResult(made.id)?.status, 'error');
  });

  it('as soon as the peer is known again', async (t) => {
    const made = await setup(t, [['CancelTask', canceled('stopped')]]);
    await made.end();
    made.known.peer = false;
    made.tasks.start();
    await made.pass(60);
    assert.equal(made.ledger.keptCheckpoints().length, 1);
    made.known.peer = true;
    await made.pass(2);
    await until(() => made.ledger.lateResult(made.id) !== undefined);
  });

  it('for a day at most', async (t) => {
    const made = await setup(t, []);
    await made.end();
    made.known.peer = false;
    made.tasks.start();
    await made.pass(60);
    assert.equal(made.ledger.keptCheckpoints().length, 1);
    made.clock.advance(DAY_MS);
    await made.pass(2);
    await until(() => made.ledger.keptCheckpoints().length === 0);
    assert.deepEqual(made.methods(), []);
    assert.ok(made.log.messages.includes('warn: task that was given up was never canceled at its peer'));
  });

  it('later, if the ledger cannot be written', async (t) => {
    const made = await setup(t, [
      ['CancelTask', canceled('stopped')],
      ['CancelTask', canceled('stopped')],
    ]);
    await made.end();
    const save = made.ledger.saveLateResult;
    let failures = 1;
    made.ledger.saveLateResult = (...args) => {
      if (failures === 0) return save(...args);
      failures -= 1;
      return Promise.reject(new FleetError('STORE_UNAVAILABLE', 'the disk is full'));
    };
    made.tasks.start();
    await made.pass(16);
    await until(() => made.log.messages.some((line) => /not checked: trying again/.test(line)));
    await made.pass(120);
    await until(() => made.ledger.lateResult(made.id) !== undefined);
  });
});
