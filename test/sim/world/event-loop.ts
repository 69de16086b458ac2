/** A loop of events in virtual time. Time moves in whole milliseconds, and only when everything due has happened. */
export interface EventLoop {
  /** Virtual time since the start, ms. */
  readonly now: number;
  /** The number of events that have happened. */
  readonly events: number;
  /** Calls `fn` at this time, or at once if it has passed. Events of the same time happen in the order of these calls. */
  at(time: number, fn: () => void): Disposable;
  after(ms: number, fn: () => void): Disposable;
  /**
   * Runs until `isOver`, which is asked after each instant: when all events of a millisecond, and all promises that they
   * settled, have been handled. Ends early when nothing is left to happen.
   */
  run(isOver: () => boolean): Promise<void>;
}

interface Event {
  readonly at: number;
  readonly order: number;
  fn: (() => void) | undefined;
}

const isBefore = (a: Event, b: Event): boolean => (a.at === b.at ? a.order < b.order : a.at < b.at);

/** A binary heap, earliest event first. */
class Heap {
  readonly #events: Event[] = [];

  get first(): Event | undefined {
    return this.#events[0];
  }

  push(event: Event): void {
    const events = this.#events;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = events[parent];
      if (!above || !isBefore(event, above)) break;
      events[at] = above;
      at = parent;
    }
    events[at] = event;
  }

  pop(): Event | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (!first || !last || events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const [left, right] = [events[child], events[child + 1]];
      if (!left) break;
      if (right && isBefore(right, left)) child += 1;
      const least = events[child];
      if (!least || !isBefore(least, last)) break;
      events[at] = least;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

/** Resolves when every promise that is settled now has been handled, with all that follows from it. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function createEventLoop(): EventLoop {
  const heap = new Heap();
  let now = 0;
  let order = 0;
  let events = 0;

  function at(time: number, fn: () => void): Disposable {
    if (time === Number.POSITIVE_INFINITY) return { [Symbol.dispose]: () => undefined };
    order += 1;
    const event: Event = { at: Math.max(now, Math.ceil(time)), order, fn };
    heap.push(event);
    return {
      [Symbol.dispose]() {
        event.fn = undefined;
      },
    };
  }

  /** Runs everything that is due at one time; false if it was all cancelled. */
  function runDue(time: number): boolean {
    let hasRun = false;
    for (let next = heap.first; next && next.at <= time; next = heap.first) {
      heap.pop();
      if (!next.fn) continue;
      now = time;
      events += 1;
      hasRun = true;
      next.fn();
    }
    return hasRun;
  }

  return {
    get now() {
      return now;
    },
    get events() {
      return events;
    },
    at,
    after: (ms, fn) => at(now + ms, fn),
    async run(isOver) {
      await settled();
      for (let next = heap.first; next; next = heap.first) {
        if (!runDue(next.at)) continue;
        await settled();
        if (isOver()) return;
      }
    },
  };
}
