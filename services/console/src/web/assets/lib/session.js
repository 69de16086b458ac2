import { ApiError, get, post, remove, setCsrfToken } from './api.js';
import { createShared } from './shared.js';

/**
 * The session of this browser, and the question for a token that some requests need.
 *
 * @typedef {import('../../../http/session.ts').SessionDocument} SessionDocument
 * @typedef {object} SessionState
 * @property {'loading' | 'open' | 'none' | 'unreachable'} kind
 * @property {SessionDocument | null} session
 * @property {{reason: string, answer: (given: boolean) => void} | null} asking Set while the token dialog is open.
 */

const shared = createShared(/** @type {SessionState} */ ({ kind: 'loading', session: null, asking: null }));
const { update } = shared;
export const useSession = shared.use;

/** @param {SessionDocument} session */
function openSession(session) {
  setCsrfToken(session.csrf_token);
  update({ kind: 'open', session });
}

/** Reads the session. Never rejects: the state says what came of it. */
export async function loadSession() {
  try {
    openSession(await get('/api/session'));
  } catch (error) {
    update({ kind: error instanceof ApiError && error.status === 401 ? 'none' : 'unreachable' });
  }
}

/** A request was answered with 401: the session has ended. */
export const reportUnauthenticated = () => update({ kind: 'none', session: null });

/** @param {string} token Rejects with an ApiError if no profile knows it. */
export async function giveToken(token) {
  openSession(await post('/api/token', { token }));
}

/** The console forgets the token. */
export async function forgetToken() {
  await remove('/api/token');
  await loadSession();
}

/** Ends the session, with its token. */
export async function signOut() {
  await remove('/api/session');
  update({ kind: 'none', session: null });
}

/**
 * Runs a request that needs a person's token. Asks for the token when the console has none, and then runs it once more.
 *
 * @template T
 * @param {string} reason What the token is for, as the end of "This needs your token: ".
 * @param {() => Promise<T>} run
 * @returns {Promise<T | undefined>} undefined if the person gave none.
 */
export async function withToken(reason, run) {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) reportUnauthenticated();
    if (!(error instanceof ApiError) || error.code !== 'TOKEN_NEEDED') throw error;
  }
  return (await askForToken(reason)) ? run() : undefined;
}

/** @param {string} reason @returns {Promise<boolean>} Whether a token was given. */
export function askForToken(reason) {
  shared.get().asking?.answer(false);
  return new Promise((resolve) => {
    const answer = (/** @type {boolean} */ given) => {
      update({ asking: null });
      resolve(given);
    };
    update({ asking: { reason, answer } });
  });
}
