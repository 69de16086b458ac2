import type { Priority, TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { randomOf } from '../world/random.ts';

/** The workers and the tasks of a simulation. */
export interface LoadSettings {
  readonly seed: number;
  readonly workers: number;
  readonly tasks: number;
  /** Tasks that a worker runs at the same time. */
  readonly slots: number;
  /** The share of all slots that the tasks need on average, 0 to 1. Above 1 the queue grows. */
  readonly load: number;
  /** The mean duration of a task, s. */
  readonly taskSeconds: number;
}

/** One task: when it comes, what it asks for, and what it will take. */
export interface TaskSpec {
  readonly id: string;
  readonly index: number;
  readonly caller: string;
  readonly contextId: string;
  /** Virtual time, ms. */
  readonly arrivesAt: number;
  readonly dispatch: TaskDispatch;
  readonly durationMs: number;
  /** The share of the work that the budget allows: none, the first of its two steps, or all of it. */
  readonly share: 0 | 0.5 | 1;
  /** Tokens that the work needs; it gets at most the budget. */
  readonly tokens: number;
}

export const CALLERS = ['ana', 'ben', 'cem', 'dee', 'eli', 'fay', 'gus', 'hal'];
/** The first caller sends so many times as many tasks as each of the others. */
const FLOOD = 5;
const WEIGHTS = CALLERS.length - 1 + FLOOD;
/** The share of the tasks that belong to conversations, and the length of one in tasks. */
const CONVERSATIONS = { share: 0.1, tasks: 4 };
export const TIERS = ['haiku', 'sonnet', 'opus'];
/** The spread of durations: the longest of a hundred takes about ten times the median. */
const SIGMA = 1;

const PRIORITIES: readonly (readonly [Priority, number])[] = [
  ['low', 0.1],
  ['normal', 0.9],
  ['high', 0.98],
  ['urgent', 1],
];

/** The mean time between two arrivals, ms. */
export const meanGapMs = ({ workers, slots, load, taskSeconds }: LoadSettings): number =>
  (taskSeconds * 1_000) / (workers * slots * load);

/** Creates the tasks one after another, each with a random stream of its own. */
export function* workload(settings: LoadSettings): Generator<TaskSpec> {
  const gap = meanGapMs(settings);
  /** The tasks of conversations so far, by caller. */
  const talks = new Map<string, number>();
  let at = 0;
  for (let index = 0; index < settings.tasks; index += 1) {
    const random = randomOf(settings.seed, `task ${index}`);
    at += random.exponential(gap);
    const place = random.next() * WEIGHTS;
    const caller = CALLERS[place < FLOOD ? 0 : 1 + Math.floor(place - FLOOD)] ?? 'ana';
    const draw = random.next();
    const priority = PRIORITIES.find(([, upTo]) => draw < upTo)?.[0] ?? 'normal';
    const durationMs = Math.max(1, Math.round(random.lognormal(settings.taskSeconds * 1_000, SIGMA)));
    const wanted = 200 + Math.round(random.lognormal(4_000, SIGMA));
    const id = `t${index}`;
    const isLong = random.next() < CONVERSATIONS.share;
    const talk = talks.get(caller) ?? 0;
    if (isLong) talks.set(caller, talk + 1);
    const needsServer = random.next() < 0.3;
    const opusOnly = random.next() < 0.1;
    const { share, tokens, tokenBudget } = budgetOf(wanted, random.next());
    yield {
      id,
      index,
      caller,
      contextId: isLong ? `conversation ${caller} ${Math.floor(talk / CONVERSATIONS.tasks)}` : id,
      arrivesAt: at,
      durationMs,
      share,
      tokens,
      dispatch: {
        type: 'TASK_DISPATCH',
        protocolVersion: '2.0',
        task: { taskId: id, priority, tokenBudget },
        requirements: {
          ...(needsServer ? { requiredMcp: ['search'] } : {}),
          ...(opusOnly ? { modelTier: { min: 'opus' } } : {}),
        },
        brief: 'do it',
      },
    };
  }
}

/** One task of twenty has a smaller budget than its work needs. */
function budgetOf(
  tokens: number,
  draw: number,
): Pick<TaskSpec, 'share' | 'tokens'> & { readonly tokenBudget: number } {
  if (draw < 0.025) return { share: 0, tokens: Math.max(tokens, 2_000), tokenBudget: 400 };
  const most = Math.max(tokens, 400);
  if (draw < 0.05) return { share: 0.5, tokens: most, tokenBudget: Math.ceil(0.75 * most) };
  return { share: 1, tokens, tokenBudget: 3 * tokens };
}
