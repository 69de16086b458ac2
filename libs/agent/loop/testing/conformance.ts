import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type {
  AdmittedTask,
  MessagePart,
  RunEvent,
  RunOutcome,
  TaskArtifacts,
  TokenStore,
  ToolSource,
} from '@hermes-fleet/protocol/ports';
import type { Place } from '@hermes-fleet/workspace/testing';
import type { z } from 'zod';
import type { Agent } from '../src/agent.ts';
import type { AgentConfigSchema } from '../src/config/config-yaml.ts';
import { makeContext, makeTask, type TestRun } from './harness.ts';

export type Call = readonly [tool: string, input: { readonly [key: string]: unknown }];

/** One answer of a scripted model. Tools have the agent's names, whatever the executor calls them. */
export interface Turn {
  readonly text?: string;
  readonly calls?: readonly Call[];
  /** It sends this much and then hangs. */
  readonly hang?: boolean;
  readonly cutOff?: boolean;
  /** The HTTP status of a refusal. */
  readonly refused?: number;
  /** The reported output tokens. */
  readonly output?: number;
}

/** A request to the model, independent of the wire protocol. */
export interface ModelRequest {
  readonly system: string;
  /** The user messages, follow-up prompts included. */
  readonly users: readonly string[];
  /** The tool results, in order. */
  readonly results: readonly string[];
  readonly tools: readonly string[];
  /** The whole request. */
  readonly raw: string;
}

export type Script = (call: number, asked: ModelRequest) => Turn;
type Config = z.input<typeof AgentConfigSchema>;

export interface FixtureOptions {
  readonly config?: Config;
  readonly sources?: readonly ToolSource[];
  readonly place?: Place;
}

/** An agent with a scripted model. */
export interface Fixture {
  readonly agent: Agent & { readonly place: Place };
  readonly requests: readonly ModelRequest[];
  readonly guards: readonly string[];
}

/** An executor with a model. */
export interface ExecutorUnderTest {
  readonly name: string;
  /** Why it cannot run here. */
  readonly unavailable: string | false;
  /** The model follows a script, follows the brief, or does not exist. */
  readonly model: 'scripted' | 'runbook' | 'none';
  /** The approximate cost of a call with a short conversation. In tokens. */
  readonly callTokens: number;
  /** Creates an agent whose model follows the script; a runbook follows the brief instead. */
  setUp(t: TestContext, script: Script, o?: FixtureOptions): Promise<Fixture>;
}

/** A behavior that every executor must have. */
export interface ConformanceCase {
  readonly name: string;
  /** Why it does not apply to an executor; undefined when it applies. */
  skipFor?(executor: ExecutorUnderTest): string | undefined;
  run(t: TestContext, executor: ExecutorUnderTest): Promise<void>;
}

/** For cases about the model's mistakes. */
export const needsScript = ({ model }: ExecutorUnderTest): string | undefined => {
  if (model === 'runbook') return 'a runbook does what its brief spells out, and nothing else';
  return model === 'none' ? 'it has no model and no tools' : undefined;
};

/** For cases that a brief can cause, too. */
export const needsTools = ({ model }: ExecutorUnderTest): string | undefined =>
  model === 'none' ? 'it has no model and no tools' : undefined;

/** Cases run side by side, because they mostly wait for commands and for processes of the executor. */
const CONCURRENCY = 3;

/**
 * Registers a test for each case. Cases that do not apply are skipped with the reason. Each has directories and a model
 * of its own; the cases of one executor run at the same time, never the same case for two executors.
 */
export function testExecutor(executor: ExecutorUnderTest, cases: readonly ConformanceCase[]): void {
  describe(executor.name, { concurrency: CONCURRENCY }, () => {
    for (const testCase of cases) {
      const skip = executor.unavailable || testCase.skipFor?.(executor) || false;
      test(`${executor.name}: ${testCase.name}`, { skip }, (t) => testCase.run(t, executor));
    }
  });
}

export interface RunOptions {
  readonly brief?: string;
  readonly task?: Partial<TaskDispatch['task']>;
  readonly contextId?: string;
  readonly parts?: readonly MessagePart[];
  /** Resumes this task. */
  readonly again?: AdmittedTask;
  readonly limit?: number;
  readonly store?: TokenStore;
  readonly checkpoint?: JsonObject;
  readonly artifacts?: TaskArtifacts;
  onEvent?(event: RunEvent, context: TestRun): void;
  onSave?(context: TestRun): void;
  answer?(question: string, key: string): Promise<string>;
}

export interface FinishedRun {
  readonly result: RunOutcome;
  readonly context: TestRun;
  readonly task: AdmittedTask;
}

export interface StartedRun {
  readonly result: Promise<RunOutcome>;
  readonly context: TestRun;
  readonly task: AdmittedTask;
}

export function startRun({ agent }: Fixture, options: RunOptions = {}): StartedRun {
  const { again, brief = 'Do it.', limit, store, checkpoint } = options;
  const { task: fields, contextId, parts } = options;
  const place = { ...(fields && { task: fields }), ...(contextId && { contextId }), ...(parts && { parts }) };
  const task = again ?? makeTask(brief, place);
  const made = makeContext({
    ...(limit !== undefined && { limit }),
    ...(store && { store }),
    ...(checkpoint && { checkpoint }),
    onEvent: (event) => options.onEvent?.(event, context),
    onSave: () => options.onSave?.(context),
  });
  const context: TestRun = {
    ...made,
    artifacts: options.artifacts,
    ask: (question, { key }) => options.answer?.(question, key) ?? assert.fail('nobody answers'),
  };
  return { result: agent.executor.run(task, context), context, task };
}

export async function runTask(fixture: Fixture, options: RunOptions = {}): Promise<FinishedRun> {
  const { result, context, task } = startRun(fixture, options);
  return { result: await result, context, task };
}

/** True for the progress event at the end of a call of this tool. */
export const hasEnded = (event: RunEvent, tool: string): boolean =>
  event.type === 'progress' && event.data.tool === tool && event.data.phase === 'ended';

export const lastCheckpoint = ({ checkpoints }: TestRun): JsonObject => checkpoints.at(-1) ?? assert.fail();

/** The pids of processes whose command line contains this text. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });
}
