import { createShared } from './shared.js';

/**
 * What the console pushes (`GET /api/stream`): its status, and which views have news. One connection for the whole page.
 *
 * @typedef {import('../../../http/status.ts').StatusDocument} StatusDocument
 * @typedef {import('../../../http/changes.ts').ChangedDocument} ChangedDocument
 * @typedef {object} Live
 * @property {'connecting' | 'open' | 'lost'} connection to the console.
 * @property {StatusDocument | null} status The last one; null before the first.
 */

const shared = createShared(/** @type {Live} */ ({ connection: 'connecting', status: null }));
const { update } = shared;
/** The connection and the status, rendered again when they change. */
export const useLive = shared.use;

/** @type {Set<(changed: ChangedDocument | null) => void>} */
const listeners = new Set();

/** Longest wait before the stream is opened again. */
const RETRY_MS = { first: 1_000, longest: 10_000 };

/**
 * @param {(changed: ChangedDocument | null) => void} listen is called with each news; with null when the stream opens
 *   again, because news may be lost.
 * @returns {() => void} Ends it.
 */
export function onChanged(listen) {
  listeners.add(listen);
  return () => listeners.delete(listen);
}

/**
 * Opens the stream and keeps it open until the returned function is called.
 * @returns {() => void}
 */
export function startLive() {
  /** @type {EventSource | undefined} */
  let source;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let waitMs = RETRY_MS.first;
  let wasOpen = false;

  const open = () => {
    source = new EventSource('/api/stream');
    source.addEventListener('open', () => {
      waitMs = RETRY_MS.first;
      update({ connection: 'open' });
      if (wasOpen) for (const listen of listeners) listen(null);
      wasOpen = true;
    });
    source.addEventListener('status', (event) => update({ status: JSON.parse(event.data) }));
    source.addEventListener('changed', (event) => {
      const changed = JSON.parse(event.data);
      for (const listen of listeners) listen(changed);
    });
    // A browser gives up for good when the console answers with an error, so the page tries again by itself.
    source.addEventListener('error', () => {
      source?.close();
      update({ connection: 'lost' });
      timer = setTimeout(open, waitMs);
      waitMs = Math.min(waitMs * 2, RETRY_MS.longest);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}
