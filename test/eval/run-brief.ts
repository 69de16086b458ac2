import { randomInt, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type AdmittedTask, FleetError, type RunEvent, type RunOutcome } from '@hermes-fleet/protocol';
import { ledgerRun, startTask } from '../support/ledger-run.ts';
import type { EvalBrief } from './brief.ts';
import { check } from './checks.ts';
import { openEnvironment } from './environment.ts';
import type { EvalSettings } from './model.ts';

/** The outcome of one brief. */
export interface Verdict {
  readonly name: string;
  readonly outcome: 'pass' | 'fail' | 'skip';
  /** The reasons why it did not pass. */
  readonly why: readonly string[];
  readonly status: string;
  readonly tokens: number;
  /** Model calls. */
  readonly steps: number;
  /** Guard interventions, such as `verify warn`, one entry each. */
  readonly guards: readonly string[];
  readonly seconds: number;
}

/** The run is abandoned when the executor does not end this long after its deadline. */
const UNRESPONSIVE_S = 60;
const CONTEXT = 'eval';

export const newId = (): string => String(randomInt(100_000_000, 1_000_000_000));

/**
 * Runs one brief with a real agent in its own environment: workspace, confinement, ledger and an MCP server. Bounded by
 * the brief's budget and deadline and by `signal`; removes its files.
 */
export async function runBrief(
  brief: EvalBrief,
  id: string,
  settings: EvalSettings,
  signal: AbortSignal,
): Promise<Verdict> {
  await using environment = await openEnvironment(settings);
  const { agent, ledger, guards, root } = environment;
  const offered = new Set([...agent.capabilities().tools, 'mcp']);
  const missing = brief.needs.filter((tool) => !offered.has(tool));
  const notRun = { name: brief.name, status: '-', tokens: 0, steps: 0, guards: [], seconds: 0 };
  if (missing.length > 0)
    return { ...notRun, outcome: 'skip', why: [`needs ${missing.join(', ')}: ${agent.notes.join('; ')}`] };
  environment.commitFiles({
    ...brief.files,
    ...(brief.progress && { 'PROGRESS.json': JSON.stringify(brief.progress) }),
  });
  const task = taskOf(brief);
  await startTask(ledger, task);
  using deadline = deadlineOf(brief.deadline_s, signal);
  const run = ledgerRun(ledger, task, {
    model: settings.config.model,
    limit: brief.budget,
    signal: deadline.signal,
    ask: () =>
      brief.answer === undefined
        ? new Promise((_, reject) =>
            deadline.signal.addEventListener('abort', () => reject(deadline.signal.reason)),
          )
        : Promise.resolve(brief.answer),
  });
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const common = { name: brief.name, guards };
  try {
    const result = await Promise.race([
      agent.executor.run(task, run.context),
      unresponsive(brief.deadline_s),
    ]);
    const totals = {
      tokens: run.budget.spent(),
      steps: run.calls(),
      seconds: seconds(),
      status: result.status,
    };
    const tree = join(root, 'workspace/contexts', CONTEXT, 'tree');
    const why = await check(brief.expect, {
      result,
      tree,
      id,
      tokens: totals.tokens,
      seconds: totals.seconds,
      canary: environment.canary,
      scratchpad: join(tree, '.scratch', task.dispatch.task.taskId),
      memory: join(root, 'state/memory'),
      tools: succeeded(run.events),
      budget: brief.budget,
      deadlineS: brief.deadline_s,
      run: (command) => environment.command(['/bin/sh', '-c', command], tree),
    });
    return { ...common, ...totals, outcome: why.length === 0 ? 'pass' : 'fail', why };
  } catch (error) {
    signal.throwIfAborted();
    const totals = { tokens: run.budget.spent(), steps: run.calls(), seconds: seconds(), status: 'threw' };
    return {
      ...common,
      ...totals,
      outcome: 'fail',
      why: [error instanceof Error ? error.message : String(error)],
    };
  }
}

function taskOf(brief: EvalBrief): AdmittedTask {
  const { priority, reply, output_schema: outputSchema, write, budget, deadline_s: deadlineS } = brief;
  const taskId = `eval-${brief.name}`;
  return {
    id: randomUUID(),
    contextId: CONTEXT,
    resumes: 0,
    deadlineAt: Date.now() + deadlineS * 1000,
    caller: { name: 'eval', scopes: new Set(['dispatch', 'read']) },
    dispatch: {
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      brief: brief.text,
      task: {
        taskId,
        priority,
        replySchema: reply,
        tokenBudget: budget,
        write,
        ...(outputSchema && { outputSchema }),
      },
      requirements: {
        requiredCapabilities: brief.needs.filter((name) => name !== 'mcp'),
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
