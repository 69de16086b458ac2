import { SHARED, startsContainers, startsFleet } from './test-files.ts';

/** Test files that run in one process, and what they need while they run. */
export interface Job {
  readonly files: readonly string[];
  /** Share of the machine, in slots. */
  readonly slots: number;
  /** Jobs of one group never run at the same time. */
  readonly group?: string;
}

/** CPU seconds by test file. */
export type Costs = Readonly<Record<string, number>>;

/** Files that run when no other test does, after the others: by path, with the reason. */
export const ALONE: Readonly<Record<string, string>> = {
  'test/compose/swarm.slow.test.ts': 'a Swarm replaces a member that is slow to answer',
  'libs/agent/workspace/src/limits/memory-attacks.slow.test.ts':
    'a gateway has to see memory go before its control group is full',
  'test/fleet/connections.slow.test.ts': 'it measures how long callers wait beside a flood of connections',
  'test/fleet/many-streams.slow.test.ts': 'a thousand streams are read at the same time',
};

/** What runs at once on a core: two test processes or fleets, each of which waits for its children half of the time. */
const SLOTS_PER_CORE = 2;
/** The engine works beside the test, and containers have a time limit for their start and health. */
const CONTAINER_SLOTS = 2;
/** CPU seconds assumed of a file that the record does not have. */
const GUESS = { fleet: 20, containers: 20, other: 1 };

/** A whole fleet takes about two GiB. */
const GIB_PER_SLOT = 2;

/** The slots of a machine with this many cores and bytes of memory. */
export const slotsOf = (cores: number, memoryBytes: number): number =>
  Math.max(
    CONTAINER_SLOTS,
    Math.min(cores * SLOTS_PER_CORE, Math.floor(memoryBytes / 2 ** 30 / GIB_PER_SLOT)),
  );

/** CPU seconds of a file, from the record or guessed by its kind. */
export function costOf(file: string, costs: Costs): number {
  const guess = startsContainers(file) ? GUESS.containers : startsFleet(file) ? GUESS.fleet : GUESS.other;
  return costs[file] ?? guess;
}

/**
 * Containers first, because they run one after the other, and the fleet of `make test`, which takes the longest; then all
 * others, the cheapest first: when the time is over before the end, most of the tests have run. Each batch becomes a job.
 */
export function planJobs(
  batches: readonly (readonly string[])[],
  costs: Costs,
): { shared: Job[]; alone: Job[] } {
  const cost = (files: readonly string[]): number =>
    files.reduce((sum, file) => sum + costOf(file, costs), 0);
  const isLong = (file: string): boolean => startsContainers(file) || file in SHARED;
  const rank = (files: readonly string[]): number => (files.some(isLong) ? 0 : 1);
  const jobs = batches
    .toSorted((a, b) => rank(a) - rank(b) || cost(a) - cost(b))
    .map((files) => jobOf(files));
  const isAlone = ({ files }: Job): boolean => files.some((file) => file in ALONE);
  return { shared: jobs.filter((job) => !isAlone(job)), alone: jobs.filter(isAlone) };
}

function jobOf(files: readonly string[]): Job {
  if (files.some(startsContainers)) return { files, slots: CONTAINER_SLOTS, group: 'containers' };
  return { files, slots: 1 };
}

/**
 * Runs the jobs in their order, as many at once as the slots allow. A job whose group is busy is passed over until the
 * group is free; a job that needs more slots than are free holds up those behind it, so that it is not starved. Starts
 * none once the time is over. Resolves with the jobs that did not run.
 */
export async function runJobs(
  jobs: readonly Job[],
  slots: number,
  run: (job: Job) => Promise<void>,
  isOver = (): boolean => false,
): Promise<readonly Job[]> {
  const waiting = [...jobs];
  const running = new Map<Job, Promise<void>>();
  const used = (): number => running.keys().reduce((sum, job) => sum + job.slots, 0);
  const busy = (group: string): boolean => running.keys().some((job) => job.group === group);
  const takeNext = (): Job | undefined => {
    if (isOver()) return undefined;
    const at = waiting.findIndex(({ group }) => group === undefined || !busy(group));
    const next = waiting[at];
    if (next === undefined) return undefined;
    if (running.size > 0 && used() + next.slots > slots) return undefined;
    waiting.splice(at, 1);
    return next;
  };
  for (;;) {
    for (let job = takeNext(); job !== undefined; job = takeNext()) {
      const started = job;
      running.set(
        started,
        run(started).finally(() => running.delete(started)),
      );
    }
    if (running.size === 0) return waiting;
    await Promise.race(running.values());
  }
}

/** How often a long run measures the reference work, which tells how fast the machine is. */
const REFERENCES = 5;

/** The jobs, with up to five jobs without files evenly among them: they stand for the reference work. */
export function withReferences(jobs: readonly Job[]): Job[] {
  const every = Math.max(1, Math.ceil(jobs.length / REFERENCES));
  return jobs.flatMap((job, at) => (at % every === 0 ? [{ files: [], slots: 1 }, job] : [job]));
}
