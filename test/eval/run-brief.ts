import { randomInt, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { FleetError, isJsonObject } from '@hermes-fleet/protocol';
import type { AdmittedTask, RunEvent, RunOutcome } from '@hermes-fleet/protocol/ports';
import { ledgerRun, startTask } from '../support/ledger-run.ts';
import { type EvalBrief, type EvalTurn, turnsOf } from './brief.ts';
import { check } from './checks.ts';
import { openEnvironment } from './environment.ts';
import { type EvalSettings, isPlayed, settingsFor } from './model.ts';
import { type ScriptedModel, startScriptedModel } from './script/scripted-model.ts';

/** The outcome of one brief. */
export interface Verdict {
  readonly name: string;
  readonly outcome: 'pass' | 'fail' | 'skip';
  /** The reasons why it did not pass. */
  readonly why: readonly string[];
  /** The status of the last message's result. */
  readonly status: string;
  readonly tokens: number;
  /** Model calls. */
  readonly steps: number;
  /** The stages in which the conversation was shortened, such as `prune`, one entry each. */
  readonly compactions: readonly string[];
  /** Guard interventions, such as `verify warn`, one entry each. */
  readonly guards: readonly string[];
  readonly seconds: number;
}

/** The run is abandoned when the executor does not end this long after its deadline. */
const UNRESPONSIVE_S = 60;
const CONTEXT = 'eval';

export const newId = (): string => String(randomInt(100_000_000, 1_000_000_000));

type Environment = Awaited<ReturnType<typeof openEnvironment>>;

/**
 * Runs one brief with a real agent in its own environment: workspace, confinement, ledger and an MCP server. A message
 * that does not have its expected outcome ends the run. Bounded by the budget and deadline of each message and by
 * `signal`; removes its files.
 */
export async function runBrief(
  brief: EvalBrief,
  id: string,
  settings: EvalSettings,
  signal: AbortSignal,
): Promise<Verdict> {
  const { name, script, window } = brief;
  const turns = turnsOf(brief);
  await using played =
    script !== undefined && isPlayed(brief, settings)
      ? await startScriptedModel({ script, messages: turns.map(({ text }) => text), window })
      : undefined;
  await using environment = await openEnvironment(settingsFor(brief, settings, played?.url));
  const { agent, guards } = environment;
  const offered = new Set([...agent.capabilities().tools, 'mcp']);
  const missing = brief.needs.filter((tool) => !offered.has(tool));
  let sum: Verdict = {
    name,
    outcome: 'pass',
    why: [],
    status: '-',
    tokens: 0,
    steps: 0,
    compactions: [],
    guards,
    seconds: 0,
  };
  if (missing.length > 0)
    return { ...sum, outcome: 'skip', why: [`needs ${missing.join(', ')}: ${agent.notes.join('; ')}`] };
  environment.commitFiles({
    ...brief.files,
    ...(brief.progress && { 'PROGRESS.json': JSON.stringify(brief.progress) }),
  });
  for (const [at, turn] of turns.entries()) {
    const ended = await runTurn({ brief, turn, at, id, environment, played, settings, signal });
    const why = at === 0 ? ended.why : ended.why.map((reason) => `message ${at + 1}: ${reason}`);
    sum = {
      ...sum,
      outcome: why.length === 0 ? 'pass' : 'fail',
      why,
      status: ended.status,
      tokens: sum.tokens + ended.tokens,
      steps: sum.steps + ended.steps,
      compactions: [...sum.compactions, ...ended.compactions],
      seconds: sum.seconds + ended.seconds,
    };
    if (why.length > 0) break;
  }
  return sum;
}

interface TurnOptions {
  readonly brief: EvalBrief;
  readonly turn: EvalTurn;
  /** From 0. */
  readonly at: number;
  readonly id: string;
  readonly environment: Environment;
  readonly played: ScriptedModel | undefined;
  readonly settings: EvalSettings;
  readonly signal: AbortSignal;
}

type EndedTurn = Pick<Verdict, 'status' | 'tokens' | 'steps' | 'compactions' | 'seconds' | 'why'>;

/** Runs one message of a brief as a task of the brief's context. */
async function runTurn(options: TurnOptions): Promise<EndedTurn> {
  const { brief, turn, at, id, environment, played, settings, signal } = options;
  const { agent, ledger, root } = environment;
  const { budget, deadlineS, expect } = turn;
  const task = taskOf(brief, turn, at);
  await startTask(ledger, task);
  using deadline = deadlineOf(deadlineS, signal);
  const run = ledgerRun(ledger, task, {
    model: settings.config.model,
    limit: budget,
    signal: deadline.signal,
    ask: () =>
      brief.answer === undefined
        ? new Promise((_, reject) =>
            deadline.signal.addEventListener('abort', () => reject(deadline.signal.reason)),
          )
        : Promise.resolve(brief.answer),
  });
  const startedAt = performance.now();
  const figures = (status: string) => ({
    status,
    tokens: run.budget.spent(),
    steps: run.calls(),
    compactions: compactionsOf(run.events),
    seconds: (performance.now() - startedAt) / 1000,
  });
  try {
    const result = await Promise.race([agent.executor.run(task, run.context), unresponsive(deadlineS)]);
    const ended = figures(result.status);
    await endTask(ledger, task, result);
    const tree = join(root, 'workspace/contexts', CONTEXT, 'tree');
    const why = await check(expect, {
      result,
      tree,
      id,
      initial: brief.files,
      tokens: ended.tokens,
      seconds: ended.seconds,
      canary: environment.canary,
      scratchpad: join(tree, '.scratch', task.dispatch.task.taskId),
      memory: join(root, 'state/memory'),
      tools: succeeded(run.events),
      budget,
      deadlineS,
      run: (command) => environment.command(['/bin/sh', '-c', command], tree),
    });
    return { ...ended, why: [...why, ...(played?.problemsOf(at, run.events) ?? [])] };
  } catch (error) {
    signal.throwIfAborted();
    return { ...figures('threw'), why: [error instanceof Error ? error.message : String(error)] };
  }
}

/** Ends a task in the ledger, as a gateway does: the next one of its context may begin. */
async function endTask(ledger: Environment['ledger'], task: AdmittedTask, result: RunOutcome): Promise<void> {
  const { status, remaining = [], nextSteps } = result;
  const change = { result: { status, remaining, next_steps: nextSteps } };
  await ledger.append(task.id, { type: status, data: { status } }, change);
}

function taskOf(brief: EvalBrief, turn: EvalTurn, at: number): AdmittedTask {
  const { name, priority, reply, output_schema: outputSchema, write } = brief;
  return {
    id: randomUUID(),
    contextId: CONTEXT,
    parts: [],
    resumes: 0,
    deadlineAt: Date.now() + turn.deadlineS * 1000,
    caller: { name: 'eval', scopes: new Set(['dispatch', 'read']) },
    dispatch: {
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      brief: turn.text,
      task: {
        taskId: at === 0 ? `eval-${name}` : `eval-${name}-${at + 1}`,
        priority,
        replySchema: reply,
        tokenBudget: turn.budget,
        write,
        ...(outputSchema && { outputSchema }),
      },
      requirements: {
        requiredCapabilities: brief.needs.filter((one) => one !== 'mcp'),
        requiredMcp: brief.needs.includes('mcp') ? ['notes'] : [],
      },
    },
  };
}

function deadlineOf(seconds: number, signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const late = (): void =>
    controller.abort(new FleetError('DEADLINE_EXCEEDED', `the deadline of ${seconds} s has passed`));
  const timer = setTimeout(late, seconds * 1000);
  return {
    signal: AbortSignal.any([controller.signal, signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

function unresponsive(deadlineS: number): Promise<RunOutcome> {
  const { promise, reject } = Promise.withResolvers<RunOutcome>();
  const error = new Error(`the executor did not end ${UNRESPONSIVE_S} s after its deadline`);
  setTimeout(() => reject(error), (deadlineS + UNRESPONSIVE_S) * 1000).unref();
  return promise;
}

const succeeded = (events: readonly RunEvent[]): ReadonlySet<string> =>
  new Set(
    events.flatMap((event) =>
      event.type === 'progress' && event.data.ok === true ? [String(event.data.tool)] : [],
    ),
  );

/** The stage of each `compaction` in the progress of a run (docs/events.md). */
export const compactionsOf = (events: readonly RunEvent[]): string[] =>
  events.flatMap((event) => {
    const compaction = event.type === 'progress' ? event.data.compaction : undefined;
    return isJsonObject(compaction) ? [String(compaction.stage)] : [];
  });
