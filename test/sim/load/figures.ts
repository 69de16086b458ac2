import { createFairness, type Fairness } from './fairness.ts';
import { createIdealQueue } from './ideal.ts';
import { CALLERS, type TaskSpec } from './workload.ts';

export interface Quantiles {
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What a simulation measures, in virtual time. */
export interface Figures {
  readonly fairness: Fairness;
  arrived(spec: TaskSpec): void;
  /** The work for a task begins. Only the first time counts. */
  began(spec: TaskSpec, now: number): void;
  ended(spec: TaskSpec, status: string, now: number): void;
  sample(waiting: number): void;
  readonly statuses: ReadonlyMap<string, number>;
  /**
   * The time from when a task may begin to the beginning of its work, ms. It may begin when it has arrived, and the tasks of
   * its conversation before it have ended.
   */
  wait(): Quantiles;
  /** The same in the ideal queue. */
  ideal(): Quantiles;
  waitOf(caller: string): Quantiles;
  readonly mostWaiting: number;
}

/** A list of numbers in little memory. */
class Samples {
  #values = new Float64Array(1_024);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const more = new Float64Array(2 * this.#count);
      more.set(this.#values);
      this.#values = more;
    }
    this.#values[this.#count] = value;
    this.#count += 1;
  }

  quantiles(): Quantiles {
    const sorted = this.#values.slice(0, this.#count).sort();
    const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
    const sum = sorted.reduce((a, b) => a + b, 0);
    return { mean: sum / Math.max(1, sorted.length), p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}

export function createFigures(slots: number): Figures {
  const queue = createIdealQueue(slots);
  const fairness = createFairness();
  const wait = new Samples();
  const ideal = new Samples();
  const byCaller = new Map(CALLERS.map((caller) => [caller, new Samples()]));
  const statuses = new Map<string, number>();
  /** The open tasks of each context, in the order of their arrival. */
  const open = new Map<string, TaskSpec[]>();
  /** Contexts whose next task may begin, since when. A context has one caller. */
  const ready = new Map<string, number>();
  let mostWaiting = 0;

  function mayBegin({ contextId, caller, durationMs, share }: TaskSpec, since: number): void {
    ready.set(contextId, since);
    fairness.arrived(caller);
    ideal.add(queue.wait(since, durationMs * share));
  }

  return {
    fairness,
    statuses,
    arrived(spec) {
      const others = open.get(spec.contextId);
      if (others) return void others.push(spec);
      open.set(spec.contextId, [spec]);
      mayBegin(spec, spec.arrivesAt);
    },
    began({ id, contextId, caller }, now) {
      const since = ready.get(contextId);
      // A worker may still begin a task that has ended for its caller.
      if (since === undefined || !open.get(contextId)?.some((each) => each.id === id)) return;
      ready.delete(contextId);
      fairness.served(caller);
      const waited = Math.max(0, now - since);
      wait.add(waited);
      byCaller.get(caller)?.add(waited);
    },
    ended({ id, contextId, caller }, status, now) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (ready.delete(contextId)) fairness.left(caller);
      const [next, ...others] = (open.get(contextId) ?? []).filter((each) => each.id !== id);
      if (next === undefined) return void open.delete(contextId);
      open.set(contextId, [next, ...others]);
      mayBegin(next, now);
    },
    sample(count) {
      mostWaiting = Math.max(mostWaiting, count);
    },
    wait: () => wait.quantiles(),
    ideal: () => ideal.quantiles(),
    waitOf: (caller) => (byCaller.get(caller) ?? new Samples()).quantiles(),
    get mostWaiting() {
      return mostWaiting;
    },
  };
}
