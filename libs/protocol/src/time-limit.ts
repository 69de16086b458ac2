import { type Context, createContext, Script } from 'node:vm';

const CALL = new Script('work()');
let context: Context | undefined;

/**
 * What synchronous `work` gives whose cost somebody else decides; undefined when it takes longer than `ms`, and is
 * stopped wherever it is then, also inside a regular expression. It must not touch what outlives it.
 */
export function withinTime<T>(ms: number, work: () => T): { readonly value: T } | undefined {
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
