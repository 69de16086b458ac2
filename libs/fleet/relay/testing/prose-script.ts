import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TaskResult } from '@hermes-fleet/protocol/handshake';
import type { Delegation } from '../src/delegation/delegation.ts';
import { delegateProse } from '../src/prose/delegate-prose.ts';
import type { ProseOptions } from '../src/prose/send-once.ts';
import { type Answer, scriptedPeer } from './scripted-peer.ts';

export const delegation: Delegation = {
  peer: 'helper',
  messageId: 'm-1',
  contextId: 'c-1',
  prose: true,
  payload: { text: 'TASK DISPATCH (inline)\nBrief: do it' },
  startedAt: '2026-05-31T20:00:00Z',
};
export const task = (id: string, state: string, more: JsonObject = {}): JsonObject => ({
  id,
  contextId: 'c-1',
  history: [{ messageId: 'm-1', parts: [] }],
  status: { state: `TASK_STATE_${state}`, message: { messageId: 'a', parts: [{ text: `${id} ${state}` }] } },
  ...more,
});
export const said = (text: string): Answer => ({
  result: { message: { messageId: 'a', parts: [{ text }] } },
});
export const sent = (id: string, state: string): Answer => ({ result: { task: task(id, state) } });
export const seen = (id: string, state: string): Answer => ({ result: task(id, state) });
export const listed = (...tasks: JsonObject[]): Answer => ({ result: { tasks, nextPageToken: '' } });
export const error = (code: number): Answer => ({ error: { code, message: 'no' } });
export const noStream = error(-32004);
export const reported = (more: JsonObject = {}): string =>
  JSON.stringify({
    type: 'TASK_RESULT',
    protocol_version: '2.0',
    task_id: 't-1',
    status: 'done',
    tokens_spent: 5,
    next_steps: [],
    blocked_reason: null,
    artifacts: { files_changed: [] },
    ...more,
  });

export type Script = readonly (readonly [string, Answer])[];

export async function play(t: TestContext, script: Script, o: Partial<ProseOptions> = {}, d = delegation) {
  const peer = await scriptedPeer(t, script);
  const delegated = await delegateProse({ ...peer.options, ...o }, d);
  const methods = peer.calls.map(({ method }) => method);
  const result: Partial<TaskResult> = delegated.kind === 'result' ? delegated.result : {};
  return {
    ...peer,
    delegated,
    result,
    methods,
    sends: methods.filter((each) => each === 'SendMessage').length,
  };
}
