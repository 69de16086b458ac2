/** The writes of a process. Right before and right after each of them is a moment, at which the process may die. */
export interface Life {
  /** The moments so far. */
  readonly moments: number;
  readonly died: Promise<void>;
  /** Writes, unless the process is dead: then the write is not begun, or has no answer. */
  write<R>(work: () => Promise<R>): Promise<R>;
  /** Rejects the writes that a dead process waits for. */
  bury(): void;
}

/** A life that ends at this moment, from 1, by `die`; it does not end by itself at 0. */
export function lifeUntil(moment: number, die: () => void = () => undefined): Life {
  const death = Promise.withResolvers<void>();
  const grave = Promise.withResolvers<never>();
  grave.promise.catch(() => undefined);
  let moments = 0;
  function isOver(): boolean {
    moments += 1;
    if (moments === moment) {
      die();
      death.resolve();
    }
    return moment > 0 && moments >= moment;
  }
  return {
    get moments() {
      return moments;
    },
    died: death.promise,
    async write(work) {
      if (isOver()) return await grave.promise;
      const written = await work();
      return isOver() ? await grave.promise : written;
    },
    bury: () => grave.reject(new Error('killed')),
  };
}

/** The object, whose methods of these names go through `around`. */
export function around<T extends object>(
  real: T,
  names: readonly (keyof T)[],
  around: <R>(work: () => Promise<R>) => Promise<R>,
): T {
  const wrapped = new Set<PropertyKey>(names);
  return new Proxy(real, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || !wrapped.has(name)) return value;
      return (...args: unknown[]) => around(() => Reflect.apply(value, target, args));
    },
  });
}

/** Dies like `kill -9`. */
export const killSelf = (): void => void process.kill(process.pid, 'SIGKILL');
