import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dispatchOf } from '@hermes-fleet/peers/testing';
import { type AdmittedTask, ToolError } from '@hermes-fleet/protocol/ports';
import { CALLER } from '../../testing/scripts.ts';
import { callId } from '../tool-support/call-id.ts';
import { admittedSubtask, subtaskDispatch } from './subtask.ts';

const TASK: AdmittedTask = {
  id: 'a2a-1',
  contextId: 'ctx',
  caller: CALLER,
  deadlineAt: 5,
  parts: [],
  resumes: 0,
  traceparent: '00-1-2-01',
  dispatch: dispatchOf({
    task: { rootId: 'root', path: ['x'], priority: 'low', tokenBudget: 9 },
    deadline: '2026-05-31T20:00:00Z',
    requirements: { requiredMcp: ['memory'] },
  }),
};

describe('a subtask', () => {
  it('has the ID of its call, short enough for the wire', () => {
    assert.equal(callId('a2a-1', '3.0/1.2'), 'a2a-1/3.0/1.2');
    const long = 'x'.repeat(256);
    assert.match(callId(long, 'a'), /^part-[0-9a-f]{32}$/);
    assert.notEqual(callId(long, 'a'), callId(long, 'b'));
  });

  it("keeps the task's conversation apart from others, and begins a new one when the agent asks for that", () => {
    const { dispatch } = TASK;
    const named = { ...TASK, dispatch: { ...dispatch, task: { ...dispatch.task, conversation: 'theirs' } } };
    const request = { agent: 'neo', brief: 'a part', fresh: true };
    const { task } = subtaskDispatch(named, request, undefined);
    assert.deepEqual([task.conversation, task.fresh], ['theirs', true]);
  });

  it("is in the task's repository if the agent asks for that, and requires a peer that has it", () => {
    const { dispatch } = TASK;
    const repository = { name: 'web', base: 'release/1.2' };
    const inWeb = { ...TASK, dispatch: { ...dispatch, task: { ...dispatch.task, repository } } };
    const request = { agent: 'neo', brief: 'a part', requirements: { required_capabilities: ['file'] } };
    const asked = subtaskDispatch(inWeb, { ...request, inRepository: true }, undefined);
    assert.deepEqual(asked.task.repository, repository);
    assert.deepEqual(asked.requirements?.requiredCapabilities, ['file', 'repository:web']);
    const other = subtaskDispatch(inWeb, { ...request, inRepository: false }, undefined);
    assert.deepEqual(
      [other.task.repository, other.requirements?.requiredCapabilities],
      [undefined, ['file']],
    );
    assert.throws(
      () => subtaskDispatch(TASK, { ...request, inRepository: true }, undefined),
      (error) => error instanceof ToolError && /works in no repository .*leave it out/.test(error.message),
    );
  });

  it('passes the deadline, the path and the root on, and requires only what was requested', () => {
    const dispatch = subtaskDispatch(TASK, { agent: 'auto', brief: 'a part', requirements: {} }, 100);
    assert.deepEqual(dispatch, {
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      brief: 'a part',
      deadline: '2026-05-31T20:00:00Z',
      task: {
        taskId: 't-1',
        rootId: 'root',
        path: ['x'],
        priority: 'low',
        replySchema: 'prose',
        tokenBudget: 100,
      },
      requirements: {},
      routing: { target: 'auto' },
    });
    const { id, caller, deadlineAt, traceparent } = admittedSubtask(TASK, '1.0', 'sub-1', dispatch);
    assert.deepEqual([id, caller, deadlineAt, traceparent], ['a2a-1/1.0', CALLER, 5, '00-1-2-01']);
  });

  it('waits as requested; a named peer is not waited for by default', () => {
    const routing = (ask: object) =>
      subtaskDispatch(TASK, { agent: 'neo', brief: 'x', ...ask }, undefined).routing;
    assert.deepEqual(routing({}), { target: 'neo', onBlocked: 'fail' });
    assert.deepEqual(routing({ onBlocked: 'queue' }), { target: 'neo', onBlocked: 'queue' });
  });

  it('is refused with every invalid field when it is not a valid dispatch', () => {
    const wrong = { agent: 'neo', brief: '', outputSchema: { type: 'nonsense' } };
    assert.throws(
      () => subtaskDispatch(TASK, wrong, undefined),
      (error: unknown) => {
        assert.ok(error instanceof ToolError);
        assert.match(error.message, /task\.output_schema .*brief |brief .*task\.output_schema /);
        return true;
      },
    );
  });
});
