import { type Context, createContext, Script } from 'node:vm';

const CALL = new Script('work()');
let context: Context | undefined;

/** Wall-clock time of each attempt as a multiple of the limit: on a busy machine, work gets more time. */
const ATTEMPT_FACTORS = [1, 3, 9];
/** Work that got this share of the limit as CPU time was not held up by other processes. */
const CPU_SHARE = 0.8;

/**
 * Runs synchronous `work` whose cost a caller controls. Undefined when it computes for longer than `ms`: it is stopped
 * anywhere, even inside a regular expression. Work that waits for the processor (other processes, a quota) is restarted
 * with more time, up to 13 times `ms` in total, so it must have no side effects.
 */
export function withinTime<T>(ms: number, work: () => T): { readonly value: T } | undefined {
  for (const factor of ATTEMPT_FACTORS) {
    const before = process.threadCpuUsage();
    const finished = runWithTimeout(ms * factor, work);
    if (finished) return finished;
    const { user, system } = process.threadCpuUsage(before);
    if ((user + system) / 1000 >= ms * CPU_SHARE) return undefined;
  }
  return undefined;
}

function runWithTimeout<T>(ms: number, work: () => T): { readonly value: T } | undefined {
  // The context evaluates no foreign code: it only lets Node interrupt a call.
  context ??= createContext({ work: undefined });
  let finished: { readonly value: T } | undefined;
  context['work'] = (): void => {
    finished = { value: work() };
  };
  try {
    CALL.runInContext(context, { timeout: ms });
  } catch (error) {
    if (!isTimeout(error)) throw error;
  } finally {
    context['work'] = undefined;
  }
  return finished;
}

/** `instanceof Error` fails here: the error belongs to the other context. */
const isTimeout = (error: unknown): boolean =>
  (error as { readonly code?: unknown } | null | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
