import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import {
  type AdmittedTask,
  type EarlierConversation,
  type MessagePart,
  type RunContext,
  type RunEvent,
  systemClock,
  systemIds,
  type TokenEntry,
  type TokenStore,
} from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { createBudget, type TaskBudget } from '@hermes-fleet/protocol/tokens';
import { type AnchoredFiles, createConfinement } from '@hermes-fleet/workspace';
import { makePlace, type Place, plainWorkspaces } from '@hermes-fleet/workspace/testing';
import type { z } from 'zod';
import {
  type Agent,
  type AgentOptions,
  type AgentPlace,
  type AgentProfile,
  createAgent,
  type OutsideTools,
} from '../src/agent.ts';
import { AgentConfigSchema } from '../src/config/config-yaml.ts';
import { loopExecutor } from '../src/executor/loop-executor.ts';
import type { Observation, ToolContext } from '../src/run/conversation.ts';
import type { Runtime } from '../src/run/executor-provider.ts';

type Config = z.input<typeof AgentConfigSchema>;

/** The parts of `AgentOptions`, side by side. */
export interface TestAgentOptions
  extends Partial<Pick<AgentOptions, 'executor' | 'responseHandler' | 'model'>>,
    Omit<Partial<AgentProfile>, 'name' | 'tier'>,
    Omit<Partial<AgentPlace>, keyof Place>,
    OutsideTools,
    Partial<Observation>,
    Partial<Runtime> {
  readonly place?: Place;
  /** Work in git repositories, with confined commands; default: in plain folders, unless the configuration is about those. */
  readonly real?: boolean;
}

export async function makeAgent(
  t: TestContext,
  config: Config = {},
  options: TestAgentOptions = {},
): Promise<Agent & { place: Place }> {
  const {
    place = makePlace(t),
    real = options.confinement !== undefined || needsReal(config),
    ...rest
  } = options;
  const agent = await createAgent({
    config: AgentConfigSchema.parse(config),
    executor: loopExecutor,
    ...rest,
    profile: { name: 'neo', tier: 'haiku', ...rest },
    place: { ...place, ...(!real && (await plainGround(place))), ...rest },
    tools: rest,
    observe: { log: silentLog, ...rest },
    runtime: { env: { read: () => undefined }, clock: systemClock, ids: systemIds, ...rest },
  });
  t.after(() => agent.close());
  return { ...agent, place };
}

function needsReal({ workspace, tools, executor }: Config): boolean {
  const { confine, network, limits, readable, path } = tools?.shell ?? {};
  return [workspace, executor, confine, network, limits, readable, path].some((value) => value !== undefined);
}

/** Plain folders to work in, and commands that nothing confines. */
async function plainGround(place: Place): Promise<Pick<AgentPlace, 'confinement' | 'workspaces'>> {
  const parts = { clock: systemClock, log: silentLog };
  const confinement = await createConfinement({ confine: 'unconfined', ...place, ...parts });
  return { confinement, workspaces: plainWorkspaces(place.workspaceRoot) };
}

/** An in-memory token store. */
export function memoryTokens(): TokenStore {
  const booked = new Map<string, { taskId: string; entry: TokenEntry }>();
  const put = (taskId: string, entry: TokenEntry): string => {
    const id = String(booked.size + 1);
    booked.set(id, { taskId, entry });
    return id;
  };
  return {
    entries: (taskId) =>
      [...booked.values()].filter((row) => row.taskId === taskId).map(({ entry }) => entry),
    reserve: async (taskId, estimate) => put(taskId, estimate),
    async settle(id, actual) {
      const row = booked.get(id);
      if (row === undefined) throw new Error(`no reservation ${id}`);
      booked.set(id, { taskId: row.taskId, entry: actual });
    },
    async add(taskId, entry) {
      put(taskId, entry);
    },
  };
}

export interface TestRun extends RunContext {
  readonly budget: TaskBudget;
  readonly events: RunEvent[];
  /** All checkpoints, in order. */
  readonly checkpoints: JsonObject[];
  readonly controller: AbortController;
  readonly pausing: AbortController;
}

export function makeContext(
  options: {
    limit?: number;
    checkpoint?: JsonObject;
    earlier?: EarlierConversation;
    onEvent?: (event: RunEvent) => void;
    onSave?: (count: number) => void;
    store?: TokenStore;
  } = {},
): TestRun {
  const controller = new AbortController();
  const pausing = new AbortController();
  const events: RunEvent[] = [];
  const checkpoints: JsonObject[] = [];
  const budget = createBudget({
    taskId: 'task',
    limit: options.limit,
    store: options.store ?? memoryTokens(),
    model: 'offline/runbook',
  });
  return {
    controller,
    signal: controller.signal,
    pausing,
    stopping: pausing.signal,
    budget,
    events,
    checkpoints,
    park: (wait) => wait(),
    ask: async () => assert.fail('nobody answers'),
    async reportEvent(event) {
      events.push(event);
      options.onEvent?.(event);
    },
    earlier: () => options.earlier,
    checkpoint: {
      load: () => options.checkpoint,
      async save(state) {
        checkpoints.push(structuredClone(state));
        options.onSave?.(checkpoints.length);
      },
    },
  };
}

export function makeTask(
  brief: string,
  options: {
    contextId?: string;
    task?: Partial<TaskDispatch['task']>;
    resumes?: number;
    parts?: readonly MessagePart[];
  } = {},
): AdmittedTask {
  return {
    id: systemIds.uuid(),
    contextId: options.contextId ?? 'context-1',
    caller: { name: 'tester', scopes: new Set(['dispatch']) },
    dispatch: {
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      task: { taskId: 'task', ...options.task },
      brief,
    },
    deadlineAt: undefined,
    parts: options.parts ?? [],
    resumes: options.resumes ?? 0,
  };
}

/** A fenced block of a brief. */
export const block = (info: string, content: string): string => `\`\`\`${info}\n${content}\n\`\`\`\n`;

/** A tool's context in a directory that is not a repository. */
export function makeToolContext(
  options: Partial<ToolContext> & { readonly dir: string; readonly files: AnchoredFiles },
): ToolContext {
  const { signal, stopping, budget, reportEvent, park, ask } = makeContext();
  const { dir, ...rest } = options;
  let memo: JsonObject | undefined;
  return {
    signal,
    stopping,
    budget,
    reportEvent,
    park,
    ask,
    task: makeTask('do it'),
    key: '0.0',
    memo: {
      load: () => memo,
      async save(value) {
        memo = value;
      },
    },
    isShare: false,
    converse: () => assert.fail('no conversation'),
    conversation: { tools: [], inputTokens: async () => 0, record() {} },
    workspace: {
      dir,
      branch: 'b',
      files: rest.files,
      env: {},
      started: { named: async () => [], read: async () => undefined },
      wrap: (command, args) => ({ command, args }),
      begin: async () => ({ base: '' }),
      beganClean: () => false,
      resume: async () => {},
      save: async () => {},
      commit: async () => ({ left: [] }),
      leave: async () => {},
      [Symbol.asyncDispose]: async () => {},
      changedSince: async () => [],
      diffSince: async () => '',
    },
    ...rest,
  };
}
