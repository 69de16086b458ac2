import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  asking,
  CALLER,
  DONE,
  dispatching,
  inbound,
  type RelayFleet,
  relayFleet,
  type Script,
  type TestProfile,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';

interface Relayed extends RelayFleet {
  readonly neo: TestProfile;
  /** The task at switch, after the first question of neo. */
  readonly id: string;
  /** The task at neo. */
  readonly remoteId: string;
  answer(text: string, messageId?: string): Promise<void>;
}

async function relayed(
  t: TestContext,
  script: Script,
  o: { fleet?: JsonObject; worker?: JsonObject; dispatch?: JsonObject } = {},
): Promise<Relayed> {
  const neoOptions = { script, ...(o.worker ? { fleet: o.worker } : {}) };
  const fleet = await relayFleet(t, { neo: neoOptions }, { fleet: o.fleet ?? {} });
  const { orchestrator } = fleet;
  const neo = fleet.worker('neo');
  const id = await orchestrator.send(dispatching({}, o.dispatch ?? {}));
  await orchestrator.event(id, 'input_required');
  const remoteId = neo.runs[0] ?? assert.fail('neo has no task');
  return {
    ...fleet,
    neo,
    id,
    remoteId,
    async answer(text, messageId) {
      const message = inbound({ taskId: id, text, ...(messageId ? { messageId } : {}) });
      await orchestrator.gateway.accept(message, CALLER);
    },
  };
}

const told = (at: TestProfile, id: string): (string | undefined)[] =>
  at.ledger.questions(id).map(({ answer }) => answer?.text);

describe("a worker's question to the caller of a relayed task", () => {
  it('reaches the caller, and its answer reaches the same task at the worker', async (t) => {
    const fleet = await relayed(t, asking('Which room?', 'Which wall?'));
    const { orchestrator, neo, id, remoteId } = fleet;
    assert.equal(orchestrator.ledger.questions(id)[0]?.text, 'Which room?');
    assert.deepEqual([orchestrator.gateway.activeTasks(), neo.gateway.activeTasks()], [0, 0]);
    await fleet.answer('The blue one.');
    await orchestrator.event(id, 'input_required', 2);
    assert.equal(orchestrator.ledger.questions(id)[1]?.text, 'Which wall?');
    await fleet.answer('North.');
    const result = await orchestrator.result(id);
    assert.deepEqual(
      [result.status, result.text, result.executedBy],
      ['done', 'The blue one., North.', 'neo'],
    );
    assert.deepEqual(told(neo, remoteId), ['The blue one.', 'North.']);
    assert.deepEqual([neo.runs.length, result.attempts?.length], [1, 1]);
  });

  for (const victim of ['switch', 'neo', 'both'] as const)
    it(`survives a crash of ${victim} while it waits`, async (t) => {
      const fleet = await relayed(t, asking('Which room?', 'Which wall?'));
      const { orchestrator, neo, id, remoteId } = fleet;
      for (const each of victim === 'both'
        ? [neo, orchestrator]
        : victim === 'neo'
          ? [neo]
          : [orchestrator]) {
        await each.crash();
        await each.restart();
      }
      await fleet.hear('neo');
      assert.deepEqual(
        [orchestrator.task(id).state, neo.task(remoteId).state],
        ['input_required', 'input_required'],
      );
      await fleet.answer('The blue one.');
      await orchestrator.event(id, 'input_required', 2);
      await fleet.answer('North.');
      const result = await orchestrator.result(id);
      assert.deepEqual(
        [result.status, result.text],
        ['done', 'The blue one., North.'],
        JSON.stringify(result),
      );
      assert.deepEqual(told(neo, remoteId), ['The blue one.', 'North.']);
      assert.equal(neo.task(remoteId).resumes, 0);
    });

  it('is answered after the worker was unreachable', async (t) => {
    const fleet = await relayed(t, asking('Which room?'));
    await fleet.neo.crash();
    await fleet.answer('The blue one.');
    await fleet.neo.restart();
    const result = await fleet.orchestrator.result(fleet.id);
    assert.deepEqual([result.status, result.text], ['done', 'The blue one.'], JSON.stringify(result));
    assert.deepEqual(told(fleet.neo, fleet.remoteId), ['The blue one.']);
  });

  it('is withdrawn here when the worker withdraws it, and the next question is asked', async (t) => {
    const over = new AbortController();
    const script: Script = async (_task, { ask }) => {
      const first = await ask('Which room?', { key: 'a', signal: over.signal }).catch(() => 'none');
      return { ...DONE, text: `${first}, ${await ask('Which wall?', { key: 'b' })}` };
    };
    const { orchestrator, id, answer, neo, remoteId } = await relayed(t, script);
    over.abort();
    await orchestrator.event(id, 'input_required', 2);
    const asked = orchestrator.ledger
      .questions(id)
      .map(({ text, withdrawnAt }) => [text, withdrawnAt !== undefined]);
    assert.deepEqual(asked, [
      ['Which room?', true],
      ['Which wall?', false],
    ]);
    await answer('North.');
    assert.equal((await orchestrator.result(id)).text, 'none, North.');
    assert.deepEqual(told(neo, remoteId), [undefined, 'North.']);
  });

  for (const when of ['while switch runs', 'after switch was restarted'] as const)
    it(`ends here when the worker no longer waits for it, ${when}`, async (t) => {
      const worker = { limits: { max_input_wait_s: 0.3 } };
      const { orchestrator, id } = await relayed(t, asking('Which room?'), { worker });
      if (when !== 'while switch runs') {
        await orchestrator.crash();
        await orchestrator.restart();
        assert.equal(orchestrator.task(id).state, 'input_required');
        assert.deepEqual([orchestrator.gateway.activeTasks(), orchestrator.gateway.queuedTasks()], [0, 1]);
      }
      const result = await orchestrator.result(id);
      assert.deepEqual([result.status, result.executedBy], ['partial', 'neo']);
      assert.match(result.remaining?.join() ?? '', /nobody answered.*: Which room\?/);
      // A client that waited for the answer learns of the end a moment later.
      while (!/^fleet_queue_depth\{queue="input"\} 0$/m.test(await orchestrator.metrics())) await turn();
      assert.equal(orchestrator.gateway.queuedTasks(), 0);
    });

  for (const when of ['while switch runs', 'after switch was restarted'] as const) {
    it(`is withdrawn when its task is canceled ${when}`, async (t) => {
      const { orchestrator, neo, id, remoteId } = await relayed(t, asking('Which room?'));
      if (when !== 'while switch runs') {
        await orchestrator.crash();
        await orchestrator.restart();
      }
      await orchestrator.gateway.cancel(id, CALLER);
      assert.equal(orchestrator.task(id).state, 'canceled');
      assert.equal(neo.task(remoteId).state, 'canceled');
    });

    it(`is withdrawn when nobody answers in time, ${when}`, async (t) => {
      const fleet = { limits: { max_input_wait_s: 0.6 } };
      const { orchestrator, neo, id, remoteId } = await relayed(t, asking('Which room?'), { fleet });
      if (when !== 'while switch runs') {
        await orchestrator.crash();
        await orchestrator.restart();
      }
      const result = await orchestrator.result(id);
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(result.remaining?.[0] ?? '', /max_input_wait_s.*: Which room\?/);
      assert.equal(result.attempts?.[0]?.peer, 'neo');
      assert.equal(neo.task(remoteId).state, 'canceled');
    });
  }
});

describe('a task at a worker that waits for a slot after a restart of switch', () => {
  for (const how of ['is canceled', 'has its deadline passed'] as const)
    it(`also ends at the worker when it ${how}`, async (t) => {
      const script: Script = async (task, context) => {
        if (task.dispatch.brief === 'ask') await context.ask('Which room?', { key: 'a' });
        return await untilAborted(task, context);
      };
      const fleet = { limits: { max_relayed_tasks: 1 } };
      const first = await relayed(t, script, { fleet, dispatch: { brief: 'ask' } });
      const { orchestrator, neo } = first;
      const deadline = new Date(Date.now() + 3_000).toISOString();
      const id = await orchestrator.send(dispatching({}, how === 'is canceled' ? {} : { deadline }));
      await orchestrator.event(id, 'progress');
      const remoteId = neo.runs[1] ?? assert.fail('neo has one task only');
      await first.answer('The blue one.');
      await orchestrator.crash();
      await orchestrator.restart();
      assert.equal(orchestrator.task(id).state, 'queued');
      if (how === 'is canceled') await orchestrator.gateway.cancel(id, CALLER);
      const result = await orchestrator.result(id);
      assert.deepEqual([result.status, result.attempts?.[0]?.peer], ['error', 'neo'], JSON.stringify(result));
      await neo.result(remoteId);
      assert.match(neo.task(remoteId).state, /canceled|failed/);
      assert.equal(orchestrator.gateway.queuedTasks(), 0);
    });
});
