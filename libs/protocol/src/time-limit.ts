import { type Context, createContext, Script } from 'node:vm';

const CALL = new Script('work()');
let context: Context | undefined;

/** How much longer it may take by the clock, where others have the processor, one try after the other. */
const STRETCHES = [1, 3, 9];
/** Of the time by the clock; a thread that got this much of the processor was not kept waiting. */
const UNDISTURBED = 0.8;

/**
 * What synchronous `work` gives whose cost somebody else decides; undefined when it computes for longer than `ms`, and is
 * stopped wherever it is then, also inside a regular expression. Where other processes or a quota keep it waiting, it
 * gets more time, up to 13 times `ms`, and is begun anew for that: it must not touch what outlives it.
 */
export function withinTime<T>(ms: number, work: () => T): { readonly value: T } | undefined {
  for (const stretch of STRETCHES) {
    const before = process.threadCpuUsage();
    const ended = beforeTimeout(ms * stretch, work);
    if (ended) return ended;
    const { user, system } = process.threadCpuUsage(before);
    if ((user + system) / 1000 >= ms * UNDISTURBED) return undefined;
  }
  return undefined;
}

function beforeTimeout<T>(ms: number, work: () => T): { readonly value: T } | undefined {
  // Nothing of others is evaluated in it: it is only where Node can put an end to a call.
  context ??= createContext({ work: undefined });
  let ended: { readonly value: T } | undefined;
  context['work'] = (): void => {
    ended = { value: work() };
  };
  try {
    CALL.runInContext(context, { timeout: ms });
  } catch (error) {
    if (!isTimeout(error)) throw error;
  } finally {
    context['work'] = undefined;
  }
  return ended;
}

/** It is an Error of that context, and so none of ours by `instanceof`. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
