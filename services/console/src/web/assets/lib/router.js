import { query } from './api.js';
import { useEffect, useState } from './vendor.js';

/**
 * The place that the address names: `#/tasks/switch/…?state=running`. Real links lead everywhere, so that the browser's
 * history, new tabs and bookmarks work.
 *
 * @typedef {object} Place
 * @property {readonly string[]} path Its decoded segments.
 * @property {Readonly<Record<string, string>>} params
 */

/** @param {string} hash @returns {Place} */
export function readPlace(hash) {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  return {
    path: path.split('/').filter(Boolean).map(decode),
    params: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * @param {readonly string[]} path
 * @param {Readonly<Record<string, string | null | undefined>>} [params] Empty ones are left out.
 * @returns {string} The address, for `href`.
 */
export const href = (path, params = {}) => `#/${path.map(encodeURIComponent).join('/')}${query(params)}`;

/** @param {{profile: string, id: string}} task */
export const taskHref = ({ profile, id }) => href(['tasks', profile, id]);

/** @param {string} to @param {{replace?: boolean}} [options] replace leaves no entry in the history. */
export function go(to, { replace = false } = {}) {
  if (!replace) {
    location.hash = to;
    return;
  }
  history.replaceState(null, '', to);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Changes parameters of a place, without an entry in the history. @param {Place} place @param {Readonly<Record<string, string | null>>} change */
export const changeParams = ({ path, params }, change) =>
  go(href(path, { ...params, ...change }), { replace: true });

/** @returns {Place} */
export function usePlace() {
  const [place, setPlace] = useState(readPlace(location.hash));
  useEffect(() => {
    const read = () => {
      // A fragment that is no place is one of the page itself, such as the skip link's.
      if (location.hash === '' || location.hash.startsWith('#/')) setPlace(readPlace(location.hash));
    };
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return place;
}
