import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type {
  AdmittedTask,
  JsonObject,
  RunEvent,
  RunOutcome,
  TaskDispatch,
  TokenStore,
  ToolSource,
} from '@hermes-fleet/protocol';
import type { Place } from '@hermes-fleet/workspace/testing';
import type { z } from 'zod';
import type { Agent } from '../agent.ts';
import type { AgentConfigSchema } from '../config/config.ts';
import { makeContext, makeTask, type TestRun } from './harness.ts';

export type Call = readonly [tool: string, input: { readonly [key: string]: unknown }];

/** What a scripted model does in one answer; tools are called by our own names, whatever the executor calls them. */
export interface Turn {
  readonly text?: string;
  readonly calls?: readonly Call[];
  /** It says this much and then nothing more, for ever. */
  readonly hang?: boolean;
  readonly cutOff?: boolean;
  /** The provider refuses the call. */
  readonly refused?: number;
  /** Output tokens that the provider bills. */
  readonly output?: number;
}

/** What a model is asked, whatever the wire. */
export interface Asked {
  readonly system: string;
  /** What users said, what the executor asks included. */
  readonly users: readonly string[];
  /** What tools gave, in order. */
  readonly results: readonly string[];
  readonly tools: readonly string[];
  /** All that was sent. */
  readonly raw: string;
}

export type Script = (call: number, asked: Asked) => Turn;
type Config = z.input<typeof AgentConfigSchema>;

export interface BenchOptions {
  readonly config?: Config;
  readonly toolSources?: readonly ToolSource[];
  readonly place?: Place;
}

/** An agent with its scripted model. */
export interface Bench {
  readonly agent: Agent & { readonly place: Place };
  /** All that the model was asked. */
  readonly asked: readonly Asked[];
  readonly guards: readonly string[];
}

/** An executor with a model, to be held to the rows. */
export interface Subject {
  readonly name: string;
  /** Why nothing of it can run here. */
  readonly absent: string | false;
  /** Whether its model does what a script says; else what a brief spells out, or nothing at all. */
  readonly model: 'scripted' | 'runbook' | 'none';
  /** What a call with a short conversation takes of the budget, about. In tokens. */
  readonly callTokens: number;
  /** Its agent, over a model that does what the script says; a runbook reads the brief instead. */
  bench(t: TestContext, script: Script, o?: BenchOptions): Promise<Bench>;
}

/** One thing that every executor has to do. */
export interface Row {
  readonly name: string;
  /** Why it does not apply to a subject; undefined where it does. */
  except?(subject: Subject): string | undefined;
  run(t: TestContext, subject: Subject): Promise<void>;
}

/** For rows about what a model may get wrong. */
export const needsScript = ({ model }: Subject): string | undefined => {
  if (model === 'runbook') return 'a runbook does what its brief spells out, and nothing else';
  return model === 'none' ? 'it has no model and no tools' : undefined;
};

/** For rows that a brief can bring about too. */
export const needsTools = ({ model }: Subject): string | undefined =>
  model === 'none' ? 'it has no model and no tools' : undefined;

/** Holds a subject to the rows; those that cannot apply are skipped, and say why. */
export function holdTo(subject: Subject, rows: readonly Row[]): void {
  for (const row of rows) {
    const skip = subject.absent || row.except?.(subject) || false;
    test(`${subject.name}: ${row.name}`, { skip }, (t) => row.run(t, subject));
  }
}

export interface RunOptions {
  readonly brief?: string;
  readonly task?: Partial<TaskDispatch['task']>;
  readonly contextId?: string;
  /** The same task, taken up again. */
  readonly again?: AdmittedTask;
  readonly limit?: number;
  readonly store?: TokenStore;
  readonly checkpoint?: JsonObject;
  onEvent?(event: RunEvent, context: TestRun): void;
  onSave?(context: TestRun): void;
  answer?(question: string, key: string): Promise<string>;
}

export interface Ran {
  readonly result: RunOutcome;
  readonly context: TestRun;
  readonly task: AdmittedTask;
}

/** A run that is under way. */
export interface Begun {
  readonly result: Promise<RunOutcome>;
  readonly context: TestRun;
  readonly task: AdmittedTask;
}

export function begin({ agent }: Bench, o: RunOptions = {}): Begun {
  const task =
    o.again ??
    makeTask(o.brief ?? 'Do it.', {
      ...(o.task && { task: o.task }),
      ...(o.contextId && { contextId: o.contextId }),
    });
  const made = makeContext({
    ...(o.limit !== undefined && { limit: o.limit }),
    ...(o.store && { store: o.store }),
    ...(o.checkpoint && { checkpoint: o.checkpoint }),
    onEvent: (event) => o.onEvent?.(event, context),
    onSave: () => o.onSave?.(context),
  });
  const context: TestRun = {
    ...made,
    ask: (question, { key }) => o.answer?.(question, key) ?? assert.fail('nobody answers'),
  };
  return { result: agent.executor.run(task, context), context, task };
}

export async function runOn(bench: Bench, o: RunOptions = {}): Promise<Ran> {
  const { result, context, task } = begin(bench, o);
  return { result: await result, context, task };
}

/** Whether an event tells of a call of the tool that has ended. */
export const hasEnded = (event: RunEvent, tool: string): boolean =>
  event.type === 'progress' && event.data.tool === tool && event.data.phase === 'ended';

/** The last checkpoint of a run. */
export const lastCheckpoint = ({ checkpoints }: TestRun): JsonObject => checkpoints.at(-1) ?? assert.fail();

/** The processes whose command line has this in it. */
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
