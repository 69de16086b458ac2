import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type AdmittedTask,
  type JsonObject,
  type Log,
  type RunContext,
  type RunEvent,
  systemClock,
  systemIds,
  type TaskDispatch,
  type TokenEntry,
  type TokenStore,
} from '@hermes-fleet/protocol';
import { createBudget, type TaskBudget } from '@hermes-fleet/tokens';
import type { z } from 'zod';
import { type Agent, type AgentOptions, createAgent } from '../agent.ts';
import { AgentConfigSchema } from '../config/config.ts';
import type { AnchoredFiles } from '../tools/anchored-path.ts';
import type { ToolContext } from '../tools/tool.ts';

export const SECRET = 'sk-very-secret-0123456789';

export interface Place {
  readonly workspaceRoot: string;
  readonly stateDir: string;
}

/** A workspace and a state directory with a token and a ledger in it, as a profile has them. */
export function makePlace(t: TestContext): Place {
  const root = mkdtempSync(join(tmpdir(), 'fleet-agent-'));
  // Every user may pass, as in a profile's directory; the state directory is the gateway's own.
  chmodSync(root, 0o755);
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const stateDir = join(root, 'state');
  mkdirSync(stateDir, { mode: 0o700 });
  writeFileSync(join(stateDir, 'ledger.db'), SECRET, { mode: 0o600 });
  writeFileSync(join(stateDir, 'token'), SECRET, { mode: 0o600 });
  return { workspaceRoot: join(root, 'workspace'), stateDir };
}

export const quietLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export async function makeAgent(
  t: TestContext,
  config: z.input<typeof AgentConfigSchema> = {},
  options: Partial<AgentOptions> & { place?: Place } = {},
): Promise<Agent & { place: Place }> {
  const place = options.place ?? makePlace(t);
  const agent = await createAgent({
    profile: 'neo',
    config: AgentConfigSchema.parse(config),
    tier: 'haiku',
    ...place,
    env: { read: () => undefined },
    clock: systemClock,
    ids: systemIds,
    log: quietLog,
    ...options,
  });
  t.after(() => agent.close());
  return { ...agent, place };
}

/** A token store in memory. */
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
  /** Every checkpoint, in order. */
  readonly checkpoints: JsonObject[];
  readonly controller: AbortController;
  readonly pausing: AbortController;
}

export function makeContext(
  o: {
    limit?: number;
    checkpoint?: JsonObject;
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
    limit: o.limit,
    store: o.store ?? memoryTokens(),
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
    async report(event) {
      events.push(event);
      o.onEvent?.(event);
    },
    checkpoint: {
      load: () => o.checkpoint,
      async save(state) {
        checkpoints.push(structuredClone(state));
        o.onSave?.(checkpoints.length);
      },
    },
  };
}

export function makeTask(
  brief: string,
  o: { contextId?: string; task?: Partial<TaskDispatch['task']>; resumes?: number } = {},
): AdmittedTask {
  return {
    id: systemIds.uuid(),
    contextId: o.contextId ?? 'context-1',
    caller: { name: 'tester', scopes: new Set(['dispatch']) },
    dispatch: {
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      task: { taskId: 'task', ...o.task },
      brief,
    },
    deadlineAt: undefined,
    resumes: o.resumes ?? 0,
  };
}

const capabilities = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
const SETUID_AND_SETGID = 0b11000000n;

/** Whether this process may start commands as another user: root, or a gateway as it runs in containers. */
export const mayChangeUsers = (BigInt(`0x${capabilities}`) & SETUID_AND_SETGID) === SETUID_AND_SETGID;

/** Why the tests of one way of confinement cannot run here, or false. */
export function cannotConfine(method: 'auto' | 'bubblewrap' | 'uid'): string | false {
  if (method === 'uid' && !mayChangeUsers) return 'this user may not change users';
  const inContainer = mayChangeUsers && process.getuid?.() !== 0;
  return method === 'bubblewrap' && inContainer ? 'bubblewrap refuses a user with capabilities' : false;
}

/** A fenced block of a brief. */
export const block = (info: string, content: string): string => `\`\`\`${info}\n${content}\n\`\`\`\n`;

/** What a tool is called with, on a directory that is no repository. */
export function makeToolContext(
  o: Partial<ToolContext> & { readonly dir: string; readonly files: AnchoredFiles },
): ToolContext {
  const { signal, stopping, budget, report, park, ask } = makeContext();
  const { dir, ...rest } = o;
  let memo: JsonObject | undefined;
  return {
    signal,
    stopping,
    budget,
    report,
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
    converse: () => assert.fail('no conversation'),
    conversation: { tools: [], inputTokens: async () => 0, record() {} },
    workspace: {
      dir,
      branch: 'b',
      wrap: (command, args) => ({ command, args }),
      begin: async () => ({ base: '' }),
      resume: async () => {},
      commit: async () => undefined,
      leave: async () => {},
      [Symbol.dispose]() {},
      changedSince: async () => [],
      diffSince: async () => '',
    },
    ...rest,
  };
}
