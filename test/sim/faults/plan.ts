import { randomOf } from '../world/random.ts';

/** Something that goes wrong for a time. */
export type Fault = {
  /** Its place in the plan, by which a shorter run keeps or drops it. */
  readonly index: number;
  /** Virtual time, ms. */
  readonly at: number;
  readonly forMs: number;
} & (
  | { readonly kind: 'crash' | 'crash at acceptance' | 'broken'; readonly worker: number }
  | { readonly kind: 'slow'; readonly worker: number; readonly factor: number }
  | { readonly kind: 'partition'; readonly worker: number; readonly direction: 'to' | 'from' | 'both' }
  | { readonly kind: 'orchestrator crash' }
  | { readonly kind: 'loss' | 'duplication'; readonly share: number }
  | { readonly kind: 'delay'; readonly ms: number }
);

/** How often each kind comes, in proportion. */
const KINDS = [
  'crash',
  'crash',
  'crash at acceptance',
  'partition',
  'partition',
  'broken',
  'slow',
  'orchestrator crash',
  'loss',
  'duplication',
  'delay',
] as const;
const MEAN_MS = 15_000;
/** No fault lasts longer. Some last longer than a peer may be away (`fleet.routing.peer_down_after_s`). */
export const LONGEST_MS = 100_000;

/** The faults of a seed, each with a random stream of its own, within this time from the start. */
export function planFaults(seed: number, count: number, withinMs: number, workers: number): Fault[] {
  return Array.from({ length: count }, (_, index) => planFault(seed, index, withinMs, workers));
}

function planFault(seed: number, index: number, withinMs: number, workers: number): Fault {
  const random = randomOf(seed, `fault ${index}`);
  const kind = KINDS[random.below(KINDS.length)] ?? 'crash';
  const at = Math.floor(random.next() * withinMs);
  const forMs = Math.min(LONGEST_MS, Math.ceil(random.exponential(MEAN_MS)));
  const when = { index, at, forMs };
  const worker = random.below(workers);
  switch (kind) {
    case 'crash':
    case 'crash at acceptance':
    case 'broken':
      return { ...when, kind, worker };
    case 'slow':
      return { ...when, kind, worker, factor: 2 + random.below(8) };
    case 'partition':
      return {
        ...when,
        kind,
        worker,
        direction: (['to', 'from', 'both'] as const)[random.below(3)] ?? 'both',
      };
    case 'orchestrator crash':
      return { ...when, kind };
    case 'loss':
    case 'duplication':
      return { ...when, kind, share: 0.05 + 0.25 * random.next() };
    case 'delay':
      return { ...when, kind, ms: 50 + random.below(2_000) };
  }
}

export function describeFault(fault: Fault): string {
  const { index, at, forMs, kind } = fault;
  const where = 'worker' in fault ? ` of worker ${fault.worker}` : '';
  return `#${index} at ${(at / 1000).toFixed(1)} s for ${(forMs / 1000).toFixed(1)} s: ${kind}${where}`;
}
