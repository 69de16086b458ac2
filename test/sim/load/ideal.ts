/** Finds the queue times of one queue before all slots, first come first served, without any cost of dispatching. */
export interface IdealQueue {
  /** The wait of the next task, ms. Tasks are given in the order of their arrival. */
  wait(arrivesAt: number, durationMs: number): number;
}

/** Every slot can take every task at once. No scheduler that does not know durations has a shorter mean. */
export function createIdealQueue(slots: number): IdealQueue {
  /** When each slot becomes free: a binary heap. */
  const free = new Float64Array(slots);
  return {
    wait(arrivesAt, durationMs) {
      const startsAt = Math.max(arrivesAt, free[0] ?? 0);
      replaceFirst(free, startsAt + durationMs);
      return startsAt - arrivesAt;
    },
  };
}

function replaceFirst(heap: Float64Array, value: number): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child += 1;
    const least = heap[child] ?? 0;
    if (least >= value) break;
    heap[at] = least;
    at = child;
  }
  heap[at] = value;
}
