import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  freePort,
  profile,
  rpc,
  type Script,
  spending,
  until,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import { isJsonObject } from '@hermes-fleet/protocol';
import { faultyLine } from '../testing/faulty-line.ts';

/** Spends ten tokens, and then runs until it is aborted. */
const spendingUntilAborted: Script = async (task, context) => {
  await spending(10)(task, context);
  return untilAborted(task, context);
};

/** An orchestrator that gives up after a second, and a worker behind a line that can break. */
async function setup(t: TestContext, script: Script) {
  const [switchPort, neoPort, linePort] = [await freePort(), await freePort(), await freePort()];
  const neo = await profile(t, { name: 'neo', agents: { switch: switchPort, neo: neoPort }, script });
  await neo.serve();
  const line = await faultyLine(t, linePort, neoPort);
  const orchestrator = await profile(t, {
    name: 'switch',
    agents: { switch: switchPort, neo: linePort },
    random: () => 0,
    fleet: { orchestrate: true, routing: { peer_down_after_s: 1 } },
  });
  /** As if neo had announced itself with the address that the orchestrator knows. */
  const hear = async (): Promise<void> => {
    const { endpoint: _own, ...announce } = await neo.gateway.freshAnnounce();
    await orchestrator.peers.record(announce, { name: 'neo' });
  };
  await hear();
  const late = (id: string) => orchestrator.ledger.lateResult(id);
  const send = () =>
    orchestrator.send(
      dispatching({ task_id: 'mine', token_budget: 900 }, { routing: { on_blocked: 'fail' } }),
    );
  const reserved = () => orchestrator.gateway.spending.view().callers.get('operator')?.reserved;
  const delegated = (id: string): number =>
    orchestrator.ledger.tokens
      .entries(id)
      .reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
  return { neo, line, orchestrator, hear, late, send, delegated, reserved };
}

describe('a task that was given up', () => {
  it('does not begin at a worker that reads it later', async (t) => {
    const { neo, line, orchestrator, hear, send } = await setup(t, spending(10));
    line.set('hold');
    const id = await send();
    const { error } = await orchestrator.result(id);
    assert.equal(error?.code, 'peer_unreachable');
    line.set('open');
    const answers = await line.deliver();
    assert.ok(answers.length > 0);
    for (const answer of answers) assert.match(answer, /"reason":"DISPATCH_EXPIRED"/);
    await hear();
    await until(() => orchestrator.ledger.keptCheckpoints().length === 0);
    assert.deepEqual([neo.runs, neo.ledger.list({ pageSize: 1 }).totalSize], [[], 0]);
    assert.equal(orchestrator.ledger.lateResult(id), undefined);
  });

  it('begins at a worker that reads it in time, once', async (t) => {
    const { neo, line, orchestrator, send } = await setup(t, spending(10));
    line.set('hold');
    const id = await send();
    await orchestrator.event(id, 'delegated');
    await until(() => line.held > 1);
    line.set('open');
    await line.deliver();
    const { status, tokensSpent } = await orchestrator.result(id);
    assert.deepEqual([status, tokensSpent, neo.runs.length], ['done', 10, 1]);
  });

  for (const restarted of [false, true])
    it(`is canceled at the worker that has it, once that answers${restarted ? ', by the next process' : ''}`, async (t) => {
      const { neo, line, orchestrator, hear, late, send, delegated } = await setup(t, spendingUntilAborted);
      line.set('cut');
      const id = await send();
      await neo.firstRun;
      line.set('down');
      const before = await orchestrator.result(id);
      assert.deepEqual([before.error?.code, before.tokensSpent], ['peer_unreachable', 0]);
      assert.equal(orchestrator.ledger.keptCheckpoints().length, 1);
      if (restarted) {
        await orchestrator.gateway.stop(1_000);
        await orchestrator.crash();
        await orchestrator.restart();
      }
      line.set('open');
      await hear();
      const remote = await neo.result(neo.runs[0] ?? '');
      assert.deepEqual([remote.error?.code, neo.runs.length], ['canceled', 1]);
      await until(() => late(id) !== undefined);
      const kept = late(id);
      assert.deepEqual([kept?.task_id, kept?.tokens_spent, kept?.executed_by], ['mine', 10, 'neo']);
      assert.deepEqual(await orchestrator.result(id), before);
      assert.equal(delegated(id), 10);
      assert.deepEqual(orchestrator.ledger.keptCheckpoints(), []);
    });

  it('keeps the result of a worker that has done it meanwhile, and shows it', async (t) => {
    const { neo, line, orchestrator, hear, late, send } = await setup(t, async (task, context) => ({
      ...(await spending(10)(task, context)),
      text: 'done after all',
    }));
    await orchestrator.serve();
    line.set('cut');
    const id = await send();
    await neo.result(await neo.firstRun);
    line.set('down');
    await orchestrator.result(id);
    line.set('open');
    await hear();
    await until(() => late(id) !== undefined);
    const { result: task } = await rpc(orchestrator, 'GetTask', { id });
    assert.ok(isJsonObject(task) && Array.isArray(task.artifacts));
    const names = task.artifacts.map((artifact) => isJsonObject(artifact) && artifact.name);
    assert.deepEqual(names, ['task-result', 'text', 'late-result']);
    assert.match(JSON.stringify(task.artifacts.at(-1)), /"status":"done".*"text":"done after all"/);
  });

  it('keeps the reservation of its budget until its worker answers, also after a restart', async (t) => {
    const { neo, line, orchestrator, hear, late, send, reserved } = await setup(t, spendingUntilAborted);
    const id = await send();
    await neo.firstRun;
    line.set('down');
    await orchestrator.result(id);
    assert.equal(reserved(), 900);
    await orchestrator.gateway.stop(1_000);
    await orchestrator.crash();
    await orchestrator.restart();
    assert.equal(reserved(), 900);
    line.set('open');
    const announces = setInterval(() => void hear(), 500);
    t.after(() => clearInterval(announces));
    await until(() => late(id) !== undefined);
    clearInterval(announces);
    assert.equal(reserved(), 0);
  });

  it('is left to the next start if it is canceled after the stop, and the worker is told then', async (t) => {
    const { neo, orchestrator, hear, send } = await setup(t, untilAborted);
    const id = await send();
    const remoteId = await neo.firstRun;
    await orchestrator.gateway.stop(1_000);
    await assert.rejects(orchestrator.gateway.cancel(id, CALLER), { code: 'SHUTTING_DOWN' });
    await orchestrator.crash();
    await orchestrator.restart();
    await hear();
    await orchestrator.gateway.cancel(id, CALLER);
    assert.equal(orchestrator.task(id).state, 'canceled');
    await until(() => neo.task(remoteId).state === 'canceled');
  });

  it('is one that its caller cancels while the worker is away, too', async (t) => {
    const { neo, line, orchestrator, hear, late, send } = await setup(t, spendingUntilAborted);
    const id = await send();
    await neo.firstRun;
    line.set('down');
    await orchestrator.gateway.cancel(id, CALLER);
    assert.equal((await orchestrator.result(id)).error?.code, 'canceled');
    line.set('open');
    await hear();
    await until(() => late(id) !== undefined);
    assert.equal(neo.task(neo.runs[0] ?? '').state, 'canceled');
  });

  it('is none if the cancel arrives', async (t) => {
    const { orchestrator, neo, send } = await setup(t, untilAborted);
    const id = await send();
    await neo.firstRun;
    await orchestrator.gateway.cancel(id, CALLER);
    assert.deepEqual(orchestrator.ledger.keptCheckpoints(), []);
    assert.equal(orchestrator.ledger.loadCheckpoint(id), undefined);
  });
});

it('a worker that lost the time sends a task elsewhere, or back', async (t) => {
  const { neo, orchestrator } = await setup(t, async () => DONE);
  const { endpoint: _own, ...announce } = await neo.gateway.freshAnnounce();
  // Its announce was under way for a minute, so that its clock seems to be late.
  const sentAt = new Date(Date.now() - 60_000).toISOString();
  await orchestrator.peers.record({ ...announce, sentAt, seq: 10_000 }, { name: 'neo' });
  const id = await orchestrator.send(dispatching({}, { routing: { on_blocked: 'fail' } }));
  const { status, attempts } = await orchestrator.result(id);
  assert.deepEqual([status, neo.runs.length], ['blocked', 0]);
  assert.match(attempts?.[0]?.reason ?? '', /DISPATCH_EXPIRED/);
});
