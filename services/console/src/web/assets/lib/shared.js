import { useEffect, useState } from './vendor.js';

/**
 * A value that components follow.
 * @template {object} T
 * @param {T} value
 */
export function createShared(value) {
  /** @type {Set<(value: T) => void>} */
  const watchers = new Set();
  return {
    get: () => value,
    /** @param {Partial<T>} change */
    update(change) {
      value = { ...value, ...change };
      for (const watch of watchers) watch(value);
    },
    /** The value, rendered again when it changes. @returns {T} */
    use() {
      const [current, setCurrent] = useState(value);
      useEffect(() => {
        setCurrent(value);
        watchers.add(setCurrent);
        return () => {
          watchers.delete(setCurrent);
        };
      }, []);
      return current;
    },
  };
}
