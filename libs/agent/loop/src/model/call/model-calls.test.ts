import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { makeAgent, makeContext, makeTask } from '../../../testing/harness.ts';
import { startProvider } from '../../../testing/provider.ts';
import { say, scriptedServer } from '../../../testing/scripted-server.ts';
import type { ModelCallEnd } from './model-calls.ts';

/** An agent whose model is at this address, and what is heard of its calls. */
async function agentAt(t: TestContext, url: string, onEnd: (end: ModelCallEnd) => void = () => undefined) {
  const ends: ModelCallEnd[] = [];
  let running = 0;
  const modelCalls = {
    begin: () => {
      running += 1;
      return {
        [Symbol.dispose]: () => {
          running -= 1;
        },
      };
    },
    ended: (end: ModelCallEnd) => {
      ends.push(end);
      onEnd(end);
    },
  };
  const agent = await makeAgent(
    t,
    { model: 'openai-compatible/m', base_url: url },
    { model: { calls: modelCalls } },
  );
  const context = makeContext({ limit: 50_000 });
  const task = makeTask('Say hello.', { task: { replySchema: 'prose', write: false, priority: 'low' } });
  return { ends, context, run: () => agent.executor.run(task, context), running: () => running };
}

describe('a call of the model reports', () => {
  it('an answer', async (t) => {
    const server = await scriptedServer(t, () => say('Hello.'));
    const { ends, run, running } = await agentAt(t, server.url);
    assert.equal((await run()).status, 'done');
    assert.deepEqual([ends, running()], [[{ kind: 'answered' }], 0]);
  });

  it('every refused attempt, before the next one', { timeout: 60_000 }, async (t) => {
    const provider = await startProvider(t);
    const statuses = [503, 401];
    provider.answers = () => statuses.shift() ?? 500;
    const asked: number[] = [];
    const { ends, run } = await agentAt(t, `${provider.url}/v1`, () => asked.push(provider.requests.length));
    assert.equal((await run()).status, 'error');
    assert.deepEqual(ends, [
      { kind: 'refused', status: 503 },
      { kind: 'refused', status: 401 },
    ]);
    assert.deepEqual(asked, [1, 2]);
  });

  it('a provider that cannot be reached, at once', { timeout: 60_000 }, async (t) => {
    const provider = await startProvider(t);
    await provider.stop();
    const stopped = Promise.withResolvers<ModelCallEnd>();
    const { context, run } = await agentAt(t, `${provider.url}/v1`, stopped.resolve);
    const running = run().catch(() => undefined);
    assert.deepEqual(await stopped.promise, { kind: 'unreachable' });
    context.controller.abort(new Error('the test is over'));
    await running;
  });

  it('nothing of an attempt that was aborted', { timeout: 60_000 }, async (t) => {
    const provider = await startProvider(t);
    const called = Promise.withResolvers<void>();
    provider.answers = () => {
      called.resolve();
      return undefined;
    };
    const { ends, context, run, running } = await agentAt(t, `${provider.url}/v1`);
    const ran = run().catch(() => undefined);
    await called.promise;
    assert.equal(running(), 1);
    context.controller.abort(new Error('the test is over'));
    await ran;
    assert.deepEqual([ends, running()], [[], 0]);
  });
});
