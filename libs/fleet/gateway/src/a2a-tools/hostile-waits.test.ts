import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { testCall, told } from '../../testing/call-tool.ts';
import { type OddAgent, oddAgent, taskOf } from '../../testing/odd-agent.ts';
import { completed, say } from '../../testing/odd-calls.ts';

const isSend = (method: string): boolean => method === 'SendMessage';

function events(response: ServerResponse): (result: JsonObject, done?: () => void) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return (result, done) =>
    void response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`, done);
}

describe('an agent that delays its answer', () => {
  const canceled = (agent: OddAgent): boolean => agent.calls.some(({ method }) => method === 'CancelTask');
  const enough = new FleetError('CANCELED', 'enough');

  it('is cut off at the end of the call when its stream never ends', async (t) => {
    const begun = Promise.withResolvers<void>();
    const agent = await oddAgent(t, {
      reply: ({ method }, _request, response) => {
        if (method === 'CancelTask') return taskOf('CANCELED');
        if (method !== 'SendStreamingMessage') return undefined;
        const emit = events(response);
        emit({ task: taskOf('WORKING') });
        const artifact = { artifactId: 'a', parts: [{ text: 'more and more ' }] };
        const more = (): void => {
          if (response.destroyed) return;
          emit({ artifactUpdate: { taskId: 'r-1', contextId: 'c-1', artifact, append: true } }, () =>
            setImmediate(more),
          );
        };
        more();
        return undefined;
      },
    });
    const call = testCall({ onSave: ({ taskId }) => taskId === 'r-1' && begun.resolve() });
    const calling = say(agent, call, 'a2a_call_streaming');
    await begun.promise;
    call.ending.abort(enough);
    await assert.rejects(calling, (error) => error === enough);
    assert.equal(canceled(agent), true);
    assert.ok(call.events.length <= 5, `${call.events.length} events`);
    assert.doesNotMatch(JSON.stringify(call.events), /more and more/);
  });

  it('is queried and cut off when its stream holds more than a task may', async (t) => {
    const agent = await oddAgent(t, {
      reply: ({ method }, _request, response) => {
        if (method === 'GetTask') return completed('in the end');
        const emit = events(response);
        emit({ task: taskOf('WORKING') });
        const artifact = { artifactId: 'a', parts: [{ text: 'z'.repeat(1_000_000) }] };
        const more = (): void => {
          if (!response.destroyed) emit({ artifactUpdate: { artifact, append: true } }, more);
        };
        more();
        return undefined;
      },
    });
    const result = await say(agent, testCall(), 'a2a_call_streaming');
    assert.deepEqual(told(result).artifacts, [{ parts: [{ text: 'in the end' }] }]);
  });

  it('is given up at the end of the call when it never answers', async (t) => {
    const asked = Promise.withResolvers<void>();
    const agent = await oddAgent(t, {
      reply: ({ method }) => {
        if (method === 'ListTasks') return { tasks: [], nextPageToken: '' };
        asked.resolve();
        return undefined;
      },
    });
    const call = testCall();
    const calling = say(agent, call);
    await asked.promise;
    call.ending.abort(enough);
    await assert.rejects(calling, (error) => error === enough);
    assert.deepEqual(
      agent.calls.map(({ method }) => method),
      ['SendMessage', 'ListTasks'],
    );
  });

  it('is left alone when the process stops, and the next start continues', async (t) => {
    const asked = Promise.withResolvers<void>();
    const agent = await oddAgent(t, {
      reply: ({ method }) => {
        if (isSend(method)) return { task: taskOf('WORKING') };
        asked.resolve();
        return undefined;
      },
    });
    const call = testCall();
    const calling = say(agent, call);
    await asked.promise;
    const stop = new FleetError('SHUTTING_DOWN', 'later');
    call.pausing.abort(stop);
    await assert.rejects(calling, (error) => error === stop);
    assert.equal(canceled(agent), false);
    assert.deepEqual(call.memos.at(-1), { contextId: `${call.task.id}/1.0`, taskId: 'r-1' });
  });
});
