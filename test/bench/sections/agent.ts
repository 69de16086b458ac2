import { abortTimes } from '../agent/abort.ts';
import { benchContexts } from '../agent/contexts.ts';
import { clientAlone, type LoopTimes, loopOverhead } from '../agent/loop.ts';
import { median } from '../frame/quantile.ts';
import type { Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { rawRun } from '../store/ledger.ts';

/** Steps of the agent loop. */
const STEPS = 50;
const COMMIT_MS = 300;
/** Aborts of each kind. */
const ABORTS = 8;

/** Target: loop overhead below 5 ms per step, excluding the model client. A durable step commits twice. */
export const loopSection: Section = {
  name: 'loop',
  about: 'a step of the agent loop beside the model client alone',
  isDefault: true,
  async run({ dir, rounds }) {
    await loopOverhead(dir, STEPS);
    await clientAlone(STEPS);
    const runs: { commit: number; whole: LoopTimes; client: readonly number[] }[] = [];
    for (let run = 0; run < rounds; run += 1) {
      const commit = 1_000 / (await rawRun(dir, 1, COMMIT_MS)).rate;
      runs.push({ commit, whole: await loopOverhead(dir, STEPS), client: await clientAlone(STEPS) });
    }
    const durable = median(runs.map(({ commit }) => commit));
    const row = (name: string, of: (run: (typeof runs)[number]) => number): string[] => {
      const ms = median(runs.map(of));
      return [name, format(ms), format(ms / durable)];
    };
    const rows = (name: string, span: (ms: readonly number[]) => readonly number[]): string[][] => [
      row(`${name}: total`, ({ whole }) => median(span(whole.gaps))),
      row('  model client alone', ({ client }) => median(span(client))),
      row('  loop overhead', ({ whole, client }) => median(span(whole.gaps)) - median(span(client))),
      row('    of which the tool', ({ whole }) => median(span(whole.tools))),
    ];
    const overhead = runs.map(({ whole, client }) => median(whole.gaps) - median(client));
    return {
      tables: [
        {
          title: 'Agent loop: durable step time outside the model, in ms; target: loop overhead below 5 ms',
          head: ['', 'median', 'ratio to a commit'],
          rows: [
            row('SQLite alone, one commit', ({ commit }) => commit),
            ...rows(`all ${STEPS} steps`, (ms) => ms),
            ...rows('the first 10', (ms) => ms.slice(0, 10)),
            ...rows('the last 10', (ms) => ms.slice(-10)),
          ],
        },
      ],
      figures: [
        { key: 'loop.overhead', unit: 'ms', better: 'lower', values: overhead },
        {
          key: 'loop.step_to_client',
          unit: 'ratio',
          better: 'lower',
          values: runs.map(({ whole, client }) => median(whole.gaps) / median(client)),
        },
      ],
    };
  },
};

export const abortsSection: Section = {
  name: 'aborts',
  about: 'the time until a canceled command or model call has ended',
  isDefault: true,
  async run() {
    const { command, model } = await abortTimes(ABORTS);
    const row = (name: string, ms: readonly number[]): string[] => [
      name,
      String(ms.length),
      format(median(ms)),
      format(Math.max(...ms)),
    ];
    return {
      tables: [
        {
          title: 'Abort: time until the command or call has ended, in ms; target: below 200 ms',
          head: ['', 'aborts', 'median', 'slowest'],
          rows: [
            row('command that ignores SIGTERM, with a child: canceled', command.canceled),
            row('  deadline', command.deadline),
            row('hanging model call: canceled', model.canceled),
            row('  deadline', model.deadline),
          ],
        },
      ],
      figures: [
        { key: 'aborts.command_canceled', unit: 'ms', better: 'lower', values: command.canceled },
        { key: 'aborts.model_canceled', unit: 'ms', better: 'lower', values: model.canceled },
      ],
    };
  },
};

export const contextsSection: Section = {
  name: 'contexts',
  about: "a task in a context's workspace, beside a program and a worktree",
  isDefault: true,
  run: async () => ({ tables: await benchContexts(), figures: [] }),
};
