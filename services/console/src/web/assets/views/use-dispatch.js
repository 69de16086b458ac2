import { announce } from '../lib/announce.js';
import { ApiError, consoleNow, post } from '../lib/api.js';
import { withToken } from '../lib/session.js';
import { useMemo, useState } from '../lib/vendor.js';
import { dispatchOf, EMPTY, faultsOf } from './dispatch.js';

/** @typedef {import('./dispatch.js').Fields} Fields */

const WHY = { route: 'asking the orchestrator where a task would go.', send: 'sending a task.' };

/**
 * A dispatch that a person fills in, and what became of it.
 * @param {Partial<Fields>} [begin]
 */
export function useDispatch(begin = {}) {
  const [fields, setFields] = useState({ ...EMPTY, ...begin });
  const [faults, setFaults] = useState(/** @type {Record<string, string>} */ ({}));
  const [answer, setAnswer] = useState(/** @type {import('./route-answer.js').RouteAnswer | null} */ (null));
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  const [busy, setBusy] = useState(/** @type {'' | 'route' | 'send'} */ (''));
  // One name for the task until a field changes: a second click after a lost answer sends the same task, not another one.
  const taskId = useMemo(() => `console-${crypto.randomUUID()}`, [JSON.stringify(fields)]);

  const change = (/** @type {Partial<Fields>} */ changed) => {
    setFields({ ...fields, ...changed });
    setAnswer(null);
  };

  /**
   * Asks the router, whose answer is in `answer`, or sends the task.
   * @param {'route' | 'send'} what
   * @returns {Promise<any>} What the console said; undefined if there is nothing, and `faults` or `error` may say why.
   */
  const run = async (what) => {
    const found = faultsOf(fields);
    setFaults(found);
    if (Object.keys(found).length > 0) {
      announce('The form has a fault.');
      return undefined;
    }
    const dispatch = dispatchOf({ ...fields, taskId: fields.taskId.trim() || taskId }, consoleNow());
    setBusy(what);
    setError(null);
    try {
      const said = await withToken(WHY[what], () => post(`/api/${what}`, { dispatch }));
      if (what === 'route' && said !== undefined) setAnswer(said);
      return said;
    } catch (fault) {
      if (!(fault instanceof ApiError)) throw fault;
      setError(fault);
      return undefined;
    } finally {
      setBusy('');
    }
  };
  return { fields, faults, answer, error, busy, change, run };
}
