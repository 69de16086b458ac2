import { simulate } from './simulate.ts';

// Runs one line of the table of docs/scale.md, given as JSON, and prints it, separated by tabs.

const SEED = 1;
const { workers, tasks, taskSeconds } = JSON.parse(process.argv[2] ?? '{}');
const seconds = (ms: number): string => (ms / 1000).toFixed(2);

globalThis.gc?.();
const startedAt = performance.now();
const before = process.cpuUsage();
const heapBefore = process.memoryUsage().heapUsed;
let heap = 0;
const result = await simulate(
  { seed: SEED, workers, tasks, slots: 4, load: 0.8, taskSeconds, faults: 0 },
  () => {
    globalThis.gc?.();
    heap = process.memoryUsage().heapUsed - heapBefore;
  },
);
const cpuMs = process.cpuUsage(before).user / 1000;
if (result.violation) throw new Error(`${result.violation.invariant}: ${result.violation.detail}`);
const [wait, ideal] = [result.figures.wait(), result.figures.ideal()];
console.log(
  [
    workers,
    tasks,
    `${seconds(wait.p50)} / ${seconds(wait.p99)}`,
    `${seconds(ideal.p50)} / ${seconds(ideal.p99)}`,
    result.figures.fairness.index().toFixed(3),
    (result.announces.sent / (result.endedAt / 1000)).toFixed(1),
    (cpuMs / tasks).toFixed(2),
    (heap / 1024 / workers).toFixed(1),
    ((performance.now() - startedAt) / 1000).toFixed(0),
  ].join('\t'),
);
