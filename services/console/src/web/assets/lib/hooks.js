import { ApiError, consoleNow, get } from './api.js';
import { onChanged } from './live.js';
import { reportUnauthenticated } from './session.js';
import { useEffect, useRef, useState } from './vendor.js';

/** A list is read again at most this often. */
const REFRESH_MS = 500;
/** Without news, a document is read again this often: ages and shares move on without an event. */
const IDLE_REFRESH_MS = 30_000;
/** After an attempt that the console did not answer, or answered with a fault of its own. */
const RETRY_MS = 5_000;

/**
 * @template T
 * @typedef {object} Resource
 * @property {T | null} data The last one that was read. It is kept while another is read, also one of another path, so that
 *   nothing jumps; a component for another thing than the last one has another `key`.
 * @property {ApiError | null} error of the last attempt.
 * @property {boolean} loading True until the first answer.
 * @property {boolean} pending True until the first answer for this path.
 * @property {() => void} reload
 */

/**
 * A document of the API that stays current: it is read again when the console says that one of `views` has news.
 *
 * @param {string | null} path null reads nothing.
 * @param {readonly string[]} views
 * @param {string} [task] Only news of this task, as `profile/id`.
 * @returns {Resource<any>}
 */
export function useResource(path, views, task) {
  const [state, setState] = useState(
    /** @type {{path: string | null, data: any, error: ApiError | null}} */ ({
      path: null,
      data: null,
      error: null,
    }),
  );
  const reload = useRef(() => {});
  const viewKey = views.join();

  useEffect(() => {
    if (path === null) return undefined;
    const aborted = new AbortController();
    let reading = false;
    let again = false;
    let hasFailed = false;
    let lastMs = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;

    const read = async () => {
      clearTimeout(timer);
      timer = undefined;
      reading = true;
      again = false;
      hasFailed = false;
      lastMs = performance.now();
      try {
        const data = await get(path, aborted.signal);
        setState({ path, data, error: null });
      } catch (error) {
        if (aborted.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 401) reportUnauthenticated();
        hasFailed = error.status === 0 || error.status >= 500;
        setState((old) => ({ path, data: old.data, error }));
      } finally {
        reading = false;
        if (!aborted.signal.aborted) plan(again ? REFRESH_MS : hasFailed ? RETRY_MS : IDLE_REFRESH_MS);
      }
    };
    /** @param {number} afterMs since the last read began. */
    const plan = (afterMs) => {
      clearTimeout(timer);
      timer = setTimeout(read, Math.max(0, lastMs + afterMs - performance.now()));
    };
    const news = () => {
      if (reading) again = true;
      else plan(REFRESH_MS);
    };
    reload.current = () => {
      lastMs = 0;
      news();
    };
    const wanted = new Set(viewKey.split(','));
    const end = onChanged((changed) => {
      const concerned =
        changed === null ||
        (task === undefined ? changed.views.some((view) => wanted.has(view)) : changed.tasks.includes(task));
      if (concerned) news();
    });
    read();
    return () => {
      end();
      clearTimeout(timer);
      aborted.abort();
    };
  }, [path, viewKey, task]);

  return {
    data: state.data,
    error: state.error,
    loading: path !== null && state.data === null && state.error === null,
    pending: state.path !== path,
    reload: () => reload.current(),
  };
}

/** @type {Set<(now: number) => void>} */
const tickers = new Set();
/** @type {ReturnType<typeof setInterval> | undefined} */
let interval;

/** The console's time in milliseconds, rendered again each second. All clocks of the page tick together. */
export function useNow() {
  const [now, setNow] = useState(consoleNow());
  useEffect(() => {
    tickers.add(setNow);
    interval ??= setInterval(() => {
      const time = consoleNow();
      for (const tick of tickers) tick(time);
    }, 1_000);
    return () => {
      tickers.delete(setNow);
      if (tickers.size > 0) return;
      clearInterval(interval);
      interval = undefined;
    };
  }, []);
  return now;
}

/**
 * A value that follows another one only when that rests.
 * @template T
 * @param {T} value
 * @param {number} ms
 * @returns {T}
 */
export function useDebounced(value, ms) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/**
 * What a person starts: whether it runs, and why it failed.
 * @param {(error: ApiError) => string} [explain]
 */
export function useAction(explain = ({ message }) => message) {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  /** @param {() => Promise<void>} run */
  const act = async (run) => {
    setBusy(true);
    setFault('');
    try {
      await run();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFault(explain(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, fault, setFault, act };
}
