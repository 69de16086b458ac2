import { join } from 'node:path';
import { type ConsoleProcess, startConsoleProcess } from '../console/console-process.ts';
import { fillReadModel } from '../console/fill.ts';
import { median, quantile } from '../frame/quantile.ts';
import type { Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';

const TASKS = 110_000;
/** Requests of each view in a round. */
const REQUESTS = 40;
const DAY_MS = 24 * 3_600_000;

/** Target: every view below 100 ms at the 95th percentile, and the process below 120 MB. */
export const consoleSection: Section = {
  name: 'console',
  about:
    'every view of the console over 110,000 tasks and a million events; fills its read model for some minutes',
  isDefault: false,
  async run({ dir, plan, rounds }) {
    const stateDir = join(dir, 'console');
    const events = await fillReadModel(stateDir, TASKS);
    const options = { root: plan.root, stateDir, cacheDir: join(dir, 'cache'), port: plan.nats.port + 1 };
    // The first start compiles.
    await using _first = await startConsoleProcess(options);
    await _first[Symbol.asyncDispose]();
    await using server = await startConsoleProcess(options);
    const paths = viewsOf();
    const times = new Map(Object.keys(paths).map((name) => [name, [] as number[][]]));
    const memory: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, path] of Object.entries(paths)) times.get(name)?.push(await timesOf(server, path));
      memory.push(server.memory());
    }
    const p95 = (name: string): number[] => (times.get(name) ?? []).map((round) => quantile(round, 0.95));
    const rows = Object.keys(paths).map((name) => [
      name,
      format(median((times.get(name) ?? []).map((round) => median(round)))),
      format(median(p95(name))),
    ]);
    const title = `Console: one request of a view over ${TASKS.toLocaleString('en')} tasks and ${events.toLocaleString('en')} events, in ms; target: p95 below 100`;
    const slowest = Array.from({ length: rounds }, (_, round) =>
      Math.max(...Object.keys(paths).map((name) => p95(name)[round] ?? Number.NaN)),
    );
    return {
      tables: [{ title, head: ['', 'p50', 'p95'], rows }],
      figures: [
        { key: 'console.slowest_p95', unit: 'ms', better: 'lower', values: slowest, samples: REQUESTS },
        { key: 'console.memory', unit: 'MB', better: 'lower', values: memory },
      ],
    };
  },
};

async function timesOf(server: ConsoleProcess, path: string): Promise<number[]> {
  const times: number[] = [];
  for (let sent = 0; sent < REQUESTS; sent += 1) times.push(await server.request(path));
  return times;
}

/** The requests of every view, as the pages of the console send them. */
function viewsOf(): Readonly<Record<string, string>> {
  const since = encodeURIComponent(new Date(Date.now() - 30 * DAY_MS).toISOString());
  return {
    status: '/api/status',
    fleet: '/api/fleet',
    'tasks, first page': '/api/tasks',
    'tasks, with parts': '/api/tasks?parts=true',
    'tasks, blocked': '/api/tasks?state=blocked',
    'tasks, not ended': '/api/tasks?state=submitted,queued,waiting,running,input_required,paused',
    'tasks of a peer and a caller': '/api/tasks?peer=neo&caller=ci',
    'tasks, search for one': '/api/tasks?q=name-999',
    'tasks, search for none': '/api/tasks?q=nothing',
    'tasks, search for most': '/api/tasks?q=name',
    'one task': '/api/tasks/switch/s-999',
    'blocked, 30 days': `/api/blocked?since=${since}`,
    'spending, 30 days by caller': `/api/spending?by=caller&since=${since}`,
    'spending, 24 hours by model': '/api/spending?by=model',
    'spending, 30 days by task tree': `/api/spending?by=tree&since=${since}`,
    trader: `/api/trader?since=${since}`,
  };
}
