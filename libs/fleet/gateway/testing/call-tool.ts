import assert from 'node:assert/strict';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import {
  type RunEvent,
  silentLog,
  systemClock,
  systemIds,
  type TokenEntry,
  type Tool,
  type ToolCall,
  type ToolResult,
} from '@hermes-fleet/protocol/ports';
import { createBudget, type TaskBudget } from '@hermes-fleet/protocol/tokens';
import { createA2ATools } from '../src/a2a-tools/tools.ts';

export interface TestCall extends ToolCall {
  readonly budget: TaskBudget;
  readonly events: RunEvent[];
  /** Every saved memo, in order. */
  readonly memos: JsonObject[];
  readonly ending: AbortController;
  readonly pausing: AbortController;
  parked(): number;
}

interface CallOptions {
  readonly scopes?: readonly string[];
  readonly key?: string;
  readonly memo?: JsonObject | undefined;
  readonly taskId?: string;
  readonly deadlineAt?: number;
  readonly budget?: TaskBudget;
  readonly onSave?: (memo: JsonObject) => unknown;
}

/** A tool call outside of any run. */
export function testCall(o: CallOptions = {}): TestCall {
  const ending = new AbortController();
  const pausing = new AbortController();
  const events: RunEvent[] = [];
  const memos: JsonObject[] = o.memo ? [o.memo] : [];
  let parked = 0;
  return {
    events,
    memos,
    ending,
    pausing,
    signal: ending.signal,
    stopping: pausing.signal,
    key: o.key ?? '1.0',
    task: {
      id: o.taskId ?? systemIds.uuid(),
      contextId: 'context',
      caller: { name: 'tester', scopes: new Set(o.scopes ?? ['dispatch']) },
      dispatch: { type: 'TASK_DISPATCH', protocolVersion: '2.0', task: { taskId: 'abc' }, brief: 'do it' },
      deadlineAt: o.deadlineAt,
      parts: [],
      resumes: 0,
    },
    budget: o.budget ?? testBudget(),
    reportEvent: async (event) => void events.push(event),
    async park(wait) {
      parked += 1;
      return await wait();
    },
    ask: async () => assert.fail('nobody answers'),
    memo: {
      load: () => memos.at(-1),
      async save(memo) {
        memos.push(structuredClone(memo));
        o.onSave?.(memo);
      },
    },
    parked: () => parked,
  };
}

/** A task's budget; with entries, as after a restart. */
export function testBudget(limit?: number, entries: TokenEntry[] = []): TaskBudget {
  return createBudget({
    taskId: 'task',
    limit,
    model: 'test',
    store: {
      entries: () => entries,
      reserve: async () => assert.fail('nothing is reserved'),
      settle: async () => assert.fail('nothing is settled'),
      add: async (_taskId, entry) => void entries.push(entry),
    },
  });
}

type Options = Partial<Parameters<typeof createA2ATools>[0]>;

/** The A2A tools of one process, by name. */
export function a2aTools(o: Options = {}): (name: string) => Tool {
  const tools = createA2ATools({
    agents: {},
    env: { read: () => undefined },
    clock: systemClock,
    log: silentLog,
    random: () => 0,
    ...o,
  });
  return (name) => tools.find((tool) => tool.name === name) ?? assert.fail(`no ${name}`);
}

/** The output of a result, which must be an object. */
export function told({ output }: ToolResult): JsonObject {
  return isJsonObject(output) ? output : assert.fail(`no fields: ${JSON.stringify(output)}`);
}
