/**
 * @typedef {object} Failure What a request that did not succeed says of itself.
 * @property {number} status 0 if the console could not be reached.
 * @property {string} code
 * @property {string} message
 * @property {readonly {path: string, reason: string}[]} fields
 */

/** A request of the console's API that did not succeed (docs/console.md#api). */
export class ApiError extends Error {
  /** @param {Failure} failure */
  constructor({ status, code, message, fields }) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

/** Longer than the console waits for a profile. */
const TIMEOUT_MS = 20_000;

let csrfToken = '';
/** How far the clock of the console is ahead of this one, in milliseconds. */
let clockOffsetMs = 0;

/** @param {string} token of `GET /api/session`. */
export function setCsrfToken(token) {
  csrfToken = token;
}

/** The time by the clock of the console, so that ages are right on a machine whose clock is not. */
export const consoleNow = () => Date.now() + clockOffsetMs;

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>} The document. Rejects with an ApiError.
 */
export const get = (path, signal) => request('GET', path, undefined, signal);

/** @param {string} path @param {unknown} [body] @returns {Promise<any>} */
export const post = (path, body = {}) => request('POST', path, body);

/** @param {string} path @returns {Promise<any>} */
export const remove = (path) => request('DELETE', path);

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 */
async function request(method, path, body, signal) {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(method === 'GET' ? {} : { 'x-csrf-token': csrfToken }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    const message = timeout.aborted
      ? `The console gave no answer within ${TIMEOUT_MS / 1000} s.`
      : 'The console cannot be reached.';
    throw new ApiError({ status: 0, code: 'UNREACHABLE', message, fields: [] });
  }
  readClock(response.headers.get('date'));
  const document = await readJson(response);
  if (response.ok) return document;
  throw new ApiError({ status: response.status, ...failureIn(document, response) });
}

/** @param {string | null} date of an answer; it counts whole seconds. */
function readClock(date) {
  const offset = Date.parse(date ?? '') - Date.now();
  if (Number.isFinite(offset)) clockOffsetMs = Math.abs(offset) < 2_000 ? 0 : offset;
}

/** @param {Response} response */
async function readJson(response) {
  const text = await response.text();
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * @param {any} document
 * @param {Response} response
 * @returns {Omit<Failure, 'status'>}
 */
function failureIn(document, response) {
  const error = document?.error;
  return {
    code: typeof error?.code === 'string' ? error.code : 'UNKNOWN',
    message:
      typeof error?.message === 'string' ? error.message : `The console answered with ${response.status}.`,
    fields: Array.isArray(error?.fields) ? error.fields : [],
  };
}

/**
 * @param {Readonly<Record<string, string | number | boolean | null | undefined>>} parameters Empty ones are left out.
 * @returns {string} With its question mark; empty without parameters.
 */
export function query(parameters) {
  const pairs = Object.entries(parameters).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** @param {string} profile @param {string} id @returns {string} */
export const taskPath = (profile, id) =>
  `/api/tasks/${encodeURIComponent(profile)}/${encodeURIComponent(id)}`;
