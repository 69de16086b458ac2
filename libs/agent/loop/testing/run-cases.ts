import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLike } from './assert-like.ts';
import { type Script, type ScriptedAgent, type ScriptedRun, scriptedAgent } from './scripted-run.ts';
import { asked, type Reply, use } from './scripted-server.ts';

/** A task for an agent whose model follows a script, and how it ends. */
export interface RunCase {
  readonly name: string;
  readonly script: Script;
  readonly config?: Parameters<typeof scriptedAgent>[2];
  readonly task?: Parameters<ScriptedAgent>[0];
  /** What the run shows at its end. A regular expression stands for a text that it matches. */
  readonly expect: { readonly [K in keyof Ending]?: Pattern<Ending[K]> };
  /** The last message of requests, by their numbers from 1. */
  readonly asks?: Readonly<Record<number, RegExp>>;
  readonly check?: (run: ScriptedRun) => void;
}

type Ending = ReturnType<typeof endingOf>;
type Pattern<T> = T extends string
  ? string | RegExp
  : T extends readonly string[]
    ? readonly (string | RegExp)[]
    : T;

const endingOf = ({ result, requests, guards, context }: ScriptedRun) => ({
  status: result.status,
  error: result.error?.code,
  message: result.error?.message,
  text: result.text,
  remaining: result.remaining ?? [],
  nextSteps: result.nextSteps,
  files: result.artifacts.filesChanged,
  evidence: (result.evidence ?? []).map(({ kind, detail }) => `${kind} ${detail}`),
  guards,
  requests: requests.length,
  source: context.budget.usage().source,
});

/** Declares a test for each case. No run may spend more than its limit. */
export function runCases(cases: readonly RunCase[]): void {
  for (const { name, script, config, task, expect, asks = {}, check } of cases)
    test(name, async (t) => {
      const run = await (await scriptedAgent(t, script, config))(task);
      assertLike(Object.fromEntries(Object.entries(endingOf(run)).filter(([key]) => key in expect)), expect);
      for (const [turn, text] of Object.entries(asks))
        assert.match(asked(run.requests[Number(turn) - 1] ?? assert.fail(`no request ${turn}`)), text);
      const { budget } = run.context;
      assert.ok(budget.spent() <= (task?.limit ?? Infinity), `${budget.spent()} tokens are spent`);
      check?.(run);
    });
}

export const writes = (path: string, content = 'x'): Reply => use([['write_file', { path, content }]]);
export const reads = (path: string): Reply => use([['read_file', { path }]]);
export const runs = (command: string): Reply => use([['shell_exec', { command }]]);
