import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import {
  type StockAgent,
  type StockOptions,
  startStockAgent,
  textOf,
} from '../../../../../test/support/stock-agent.ts';
import { a2aTools, testCall, told } from '../../testing/call-tool.ts';
import { freePort } from '../../testing/free-port.ts';
import { oddAgent } from '../../testing/odd-agent.ts';
import { completed, registered as registeredOdd } from '../../testing/odd-calls.ts';

const registered = (agent: Pick<StockAgent, 'rpcUrl'>) =>
  a2aTools({
    agents: { helper: { url: new URL(agent.rpcUrl).origin, description: 'Helps.' } },
    agentDownAfterMs: 1_000,
  });

const stock = (t: TestContext, o: Partial<StockOptions> = {}): Promise<StockAgent> =>
  startStockAgent(t, { behaviour: async (text) => `did ${text}`, ...o });

const INPUT = { name: 'helper', message: 'it' };
const DONE = [{ name: 'reply', parts: [{ text: 'did it' }] }];
const sends = ({ methods }: StockAgent): number =>
  methods.filter((method) => /SendMessage|SendStreamingMessage|message\/send/.test(method)).length;

describe('a call whose answer is lost', () => {
  it('is looked for at the agent, and not repeated', async (t) => {
    const agent = await stock(t, { losesFirstAnswer: true });
    const result = await registered(agent)('a2a_call').run(INPUT, testCall());
    assert.deepEqual([told(result).artifacts, sends(agent), agent.messages.length], [DONE, 1, 1]);
    assert.ok(agent.methods.includes('ListTasks'));
  });

  it('is looked for in its task when it continued one', async (t) => {
    const agent = await startStockAgent(t, {
      behaviour: async (text, nth) => (nth === 1 ? { ask: 'which?' } : `did ${text}`),
    });
    const tools = registered(agent);
    const call = testCall();
    const asked = told(await tools('a2a_call').run(INPUT, call));
    const answer = { ...INPUT, message: 'this', task_id: asked.task_id ?? '' };
    const second = testCall({ taskId: call.task.id, key: '2.0' });
    await tools('a2a_call').run(answer, second);
    // As after a crash between sending and the answer: the message ID is saved, the task ID is not.
    const [sent = {}] = second.memos;
    const again = testCall({ taskId: call.task.id, key: '2.0', memo: sent });
    const result = told(await registered(agent)('a2a_call').run(answer, again));
    assert.deepEqual([result.task_id, result.state], [asked.task_id, 'completed']);
    assert.deepEqual(agent.messages.map(textOf), ['it', 'this']);
  });

  it('has an unknown outcome, and is not repeated, when the agent cannot tell', async (t) => {
    const agent = await stock(t, { losesFirstAnswer: true, answers: 'message' });
    const call = testCall();
    const { ok, output } = await registered(agent)('a2a_call').run(INPUT, call);
    assert.equal(ok, false);
    assert.match(
      String(output),
      /^its outcome at helper is unknown: .* and it shows no task for the message\. It may be done, or still running, so it was not sent again: it would be in context ".*\/1\.0" there$/,
    );
    assert.equal(sends(agent), 1);
  });
});

describe('a call to an agent that has closed the connection of the one before', () => {
  it('arrives, and arrives once', async (t) => {
    const used = new WeakSet<object>();
    const agent = await oddAgent(t, {
      reply: (_call, { socket }) => {
        if (!used.has(socket)) {
          used.add(socket);
          return { task: completed('it') };
        }
        socket.destroy();
        return undefined;
      },
    });
    const tool = registeredOdd(agent)('a2a_call');
    for (const message of ['one', 'two'])
      assert.equal((await tool.run({ name: 'odd', message }, testCall())).ok, true);
    assert.deepEqual(
      agent.calls.map(({ method }) => method),
      ['SendMessage', 'SendMessage'],
    );
  });
});

describe('a call across a restart', () => {
  for (const tool of ['a2a_call', 'a2a_call_streaming']) {
    it(`continues with the task that it began: ${tool}`, async (t) => {
      const gate = Promise.withResolvers<void>();
      const agent = await stock(t, {
        behaviour: async (text) => {
          await gate.promise;
          return `did ${text}`;
        },
      });
      const taken = Promise.withResolvers<void>();
      const call = testCall({ onSave: ({ taskId }) => taskId !== undefined && taken.resolve() });
      const calling = registered(agent)(tool).run(INPUT, call);
      await taken.promise;
      const stop = new FleetError('SHUTTING_DOWN', 'later');
      call.pausing.abort(stop);
      await assert.rejects(calling, (error) => error === stop);

      const again = testCall({ taskId: call.task.id, memo: call.memos.at(-1) });
      const resumed = registered(agent)(tool).run(INPUT, again);
      gate.resolve();
      assert.deepEqual(told(await resumed).artifacts, DONE);
      assert.deepEqual(
        [sends(agent), agent.messages.length, agent.methods.includes('CancelTask')],
        [1, 1, false],
      );
    });
  }

  it('has an unknown outcome when it was cut off before its message was sent', async (t) => {
    const agent = await stock(t);
    const call = testCall({ memo: { contextId: 'c' } });
    const { ok, output } = await registered(agent)('a2a_call').run(INPUT, call);
    assert.deepEqual([ok, sends(agent)], [false, 0]);
    assert.match(String(output), /^its outcome at helper is unknown: it shows no task for the message\./);
  });

  it('waits for an agent that restarts too', async (t) => {
    const agent = await stock(t);
    await agent.kill();
    const call = testCall({ memo: { contextId: 'c', taskId: 'r-1' } });
    const { ok, output } = await registered(agent)('a2a_call').run(INPUT, call);
    assert.equal(ok, false);
    assert.match(String(output), /cannot be reached/);
  });
});

describe('the end of a call', () => {
  it('cancels the task that it began at the agent', async (t) => {
    const agent = await stock(t, { behaviour: () => new Promise(() => undefined) });
    const taken = Promise.withResolvers<void>();
    const call = testCall({ onSave: ({ taskId }) => taskId !== undefined && taken.resolve() });
    const calling = registered(agent)('a2a_call').run(INPUT, call);
    await taken.promise;
    const reason = new FleetError('DEADLINE_EXCEEDED', 'too late');
    call.ending.abort(reason);
    await assert.rejects(calling, (error) => error === reason);
    assert.equal(agent.methods.at(-1), 'CancelTask');
  });

  it('finds and cancels the task when no answer has come yet', async (t) => {
    const begun = Promise.withResolvers<void>();
    const agent = await stock(t, {
      losesFirstAnswer: true,
      behaviour: () => {
        begun.resolve();
        return new Promise(() => undefined);
      },
    });
    const call = testCall();
    const calling = registered(agent)('a2a_call').run(INPUT, call);
    await begun.promise;
    call.ending.abort(new FleetError('CANCELED', 'enough'));
    await assert.rejects(calling, /enough/);
    assert.equal(agent.methods.at(-1), 'CancelTask');
  });
});

describe('a call to an unreachable agent', () => {
  it('fails at once, and may be repeated', async () => {
    const base = `http://127.0.0.1:${await freePort()}`;
    const tools = a2aTools({ agents: { away: { url: base, description: 'Away.' } } });
    const startedAt = systemClock.now();
    const call = testCall();
    const { ok, output } = await tools('a2a_call').run({ name: 'away', message: 'x' }, call);
    assert.equal(ok, false);
    assert.match(String(output), /cannot be reached for its agent card: ECONNREFUSED/);
    assert.deepEqual(call.memos, []);
    assert.ok(systemClock.now() - startedAt < 5_000);
  });
});
