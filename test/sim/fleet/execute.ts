import { FleetError, PROTOCOL_VERSION } from '@hermes-fleet/protocol';
import type { TaskResult } from '@hermes-fleet/protocol/handshake';
import type { Budget } from '@hermes-fleet/protocol/ports';
import { createBudget } from '@hermes-fleet/protocol/tokens';
import type { TaskSpec } from '../load/workload.ts';
import type { Process } from '../world/process.ts';
import type { StoredTask, WorkerStore } from './worker-store.ts';
import type { World } from './world.ts';

/** A task is so many calls of a model, with a checkpoint after each. */
const STEPS = 2;
const INPUT_SHARE = 0.75;
/** A call reserves so many times the output that it will have. */
const ESTIMATE = 2;

export interface ExecuteOptions {
  readonly world: World;
  readonly process: Process;
  readonly store: WorkerStore;
  readonly model: string;
  /** How many times as long as planned the work takes. */
  readonly slowness: () => number;
  /** The model answers nothing: tasks fail before they begin. */
  readonly isBroken: () => boolean;
  /** Tokens of calls under way: they count as spent if the process is killed. */
  readonly underWay: Map<string, number>;
}

/**
 * Stands in for the agent: reserves the tokens of each step, works for its part of the time, and settles what it took. The
 * account is the real one. It goes on after the step that a former process completed.
 */
export async function execute(
  options: ExecuteOptions,
  task: StoredTask,
  spec: TaskSpec,
): Promise<TaskResult> {
  const { world, process, store, model, slowness, isBroken, underWay } = options;
  const budget = createBudget({
    taskId: task.key,
    limit: world.defect === 'overspend' ? undefined : task.dispatch.task.tokenBudget,
    store: store.tokens,
    model,
  });
  const need = Math.ceil(spec.tokens / STEPS);
  const inputTokens = Math.ceil(need * INPUT_SHARE);
  for (; task.step < STEPS; task.step += 1) {
    let call: Awaited<ReturnType<typeof budget.reserve>>;
    try {
      call = await budget.reserve({ inputTokens, maxOutputTokens: ESTIMATE * (need - inputTokens) });
    } catch (error) {
      if (!(error instanceof FleetError) || error.code !== 'BUDGET_EXHAUSTED') throw error;
      return task.step > 0 ? partial(task, budget) : failed(task, budget, 'budget_exhausted');
    }
    const isFailing = task.step === 0 && isBroken();
    const estimate = inputTokens + call.maxOutputTokens;
    underWay.set(task.key, estimate);
    const steps = world.defect === 'hang' && spec.index % 97 === 13 ? Number.POSITIVE_INFINITY : STEPS;
    const ms = steps === STEPS ? (spec.durationMs / STEPS) * slowness() : steps;
    if (Number.isFinite(ms)) world.onStep(world.loop.now + ms);
    await process.clock.sleep(isFailing ? Math.min(ms, 1_000) : ms);
    underWay.delete(task.key);
    const outputTokens = isFailing ? 0 : Math.min(need - inputTokens, call.maxOutputTokens);
    world.invariants.spent(task.key, inputTokens + outputTokens);
    const reported = world.defect === 'underreport' ? 0 : outputTokens;
    await call.settle({ inputTokens, outputTokens: reported, source: 'metered' });
    if (isFailing) return failed(task, budget, 'model_failed');
  }
  return { ...bare(task, budget), status: 'done' };
}

const bare = (task: StoredTask, budget: Budget): Omit<TaskResult, 'status'> => ({
  type: 'TASK_RESULT',
  protocolVersion: PROTOCOL_VERSION,
  taskId: task.key,
  tokensSpent: budget.spent(),
  usage: budget.usage(),
  nextSteps: [],
  blockedReason: null,
  artifacts: { filesChanged: [] },
});

const partial = (task: StoredTask, budget: Budget): TaskResult => ({
  ...bare(task, budget),
  status: 'partial',
  remaining: ['the rest of the work'],
});

const failed = (task: StoredTask, budget: Budget, code: string): TaskResult => ({
  ...bare(task, budget),
  status: 'error',
  error: { code, message: 'the work could not begin', retryable: true },
});
