import { startsContainers, startsFleet } from './test-files.ts';

/** Test files that run in one process, and what they need while they run. */
export interface Job {
  readonly files: readonly string[];
  /** Share of the machine, in slots. */
  readonly slots: number;
  /** Jobs of one group never run at the same time. */
  readonly group?: string;
}

/** Files that run when no other test does, before the others: by path, with the reason. */
export const ALONE: Readonly<Record<string, string>> = {
  'test/compose/swarm.test.ts': 'a Swarm replaces a member that is slow to answer',
};

/** A fleet is six processes: it starts like several test files and then mostly waits. */
const FLEET_SLOTS = 2;
/** Containers have a time limit for their start and health, and the engine works beside them. */
const CONTAINER_SLOTS = 3;
/** Seconds assumed of a file that has not run here yet. */
const GUESS = { fleet: 20, containers: 60, other: 1 };

/** Test processes spend half of their time waiting, so more of them run than there are cores. */
export const slotsOf = (cores: number): number => Math.max(CONTAINER_SLOTS, cores * 2);

/**
 * Containers first, because they run one after the other; then all others, the fastest first: when the time is over
 * before the end, most of the tests have run. Each batch becomes a job.
 */
export function planJobs(
  batches: readonly (readonly string[])[],
  seconds: Readonly<Record<string, number>>,
): { shared: Job[]; alone: Job[] } {
  const guess = (file: string): number => {
    if (startsContainers(file)) return GUESS.containers;
    return startsFleet(file) ? GUESS.fleet : GUESS.other;
  };
  const secondsOf = (files: readonly string[]): number =>
    files.reduce((sum, file) => sum + (seconds[file] ?? guess(file)), 0);
  const timed = batches.map((files) => ({ files, seconds: secondsOf(files) }));
  const rank = (files: readonly string[]): number => (files.some(startsContainers) ? 0 : 1);
  const jobs = timed
    .sort((a, b) => rank(a.files) - rank(b.files) || a.seconds - b.seconds)
    .map(({ files }) => jobOf(files));
  const isAlone = ({ files }: Job): boolean => files.some((file) => file in ALONE);
  return { shared: jobs.filter((job) => !isAlone(job)), alone: jobs.filter(isAlone) };
}

function jobOf(files: readonly string[]): Job {
  if (files.some(startsContainers)) return { files, slots: CONTAINER_SLOTS, group: 'containers' };
  return { files, slots: files.some(startsFleet) ? FLEET_SLOTS : 1 };
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
