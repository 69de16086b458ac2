import { parseArgs } from 'node:util';
import { DEFECTS, type Defect } from './fleet/world.ts';
import type { SimSettings } from './simulate.ts';

export interface SimOptions {
  readonly help: boolean;
  /** Run the table of docs/scale.md instead of one fleet. */
  readonly scale: boolean;
  /** Run so many seeds, from `--seed` on. */
  readonly seeds: number;
  /** Search for a shorter run with the same violation. */
  readonly shrink: boolean;
  readonly settings: SimSettings;
}

const MOST = {
  seed: 2 ** 32 - 1,
  workers: 10_000,
  tasks: 10_000_000,
  slots: 1_000,
  faults: 10_000,
  seeds: 10_000,
};

export const HELP = `Usage: make sim [ARGS=<options>]

Runs a fleet in virtual time: the real routing, scheduler, relay and announces over simulated workers. The same options
give the same report. Ends with exit code 1 after a violation, which is replayed and shortened (docs/scale.md).

  --seed <n>          the seed of everything random, 1 by default
  --seeds <n>         run so many seeds, each with the report's last line only; 1 by default
  --workers <n>       workers, 10 by default, at most ${MOST.workers}
  --slots <n>         tasks that a worker runs at the same time, 4 by default
  --tasks <n>         tasks, 2000 by default
  --task-s <s>        mean duration of a task, 10 by default
  --load <share>      share of all slots that the tasks need on average, 0.8 by default; above 1 the queue grows
  --faults <n>        random faults, 10 by default
  --only <list>       of these faults, only the ones with these numbers, separated by commas; none: no fault
  --defect <name>     plant a defect that the invariants must find: ${DEFECTS.join(', ')}
  --no-shrink         do not shorten a failing run
  --scale             run the table of docs/scale.md, which takes more than an hour; takes no other option
  --help              print this
`;

/** Reads the command line. Throws an error that names the option and what it may be. */
export function readOptions(args: readonly string[]): SimOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string', default: '1' },
      workers: { type: 'string', default: '10' },
      slots: { type: 'string', default: '4' },
      tasks: { type: 'string', default: '2000' },
      'task-s': { type: 'string', default: '10' },
      load: { type: 'string', default: '0.8' },
      faults: { type: 'string', default: '10' },
      only: { type: 'string' },
      defect: { type: 'string' },
      'no-shrink': { type: 'boolean', default: false },
      scale: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.scale && args.length > 1)
    throw new Error('--scale runs a table of its own: give no other option');
  const faults = whole('--faults', values.faults, 0, MOST.faults);
  return {
    help: values.help,
    scale: values.scale,
    seeds: whole('--seeds', values.seeds, 1, MOST.seeds),
    shrink: !values['no-shrink'],
    settings: {
      seed: whole('--seed', values.seed, 0, MOST.seed),
      workers: whole('--workers', values.workers, 1, MOST.workers),
      slots: whole('--slots', values.slots, 1, MOST.slots),
      tasks: whole('--tasks', values.tasks, 1, MOST.tasks),
      taskSeconds: positive('--task-s', values['task-s'], 86_400),
      load: positive('--load', values.load, 10),
      faults,
      only: onlyOf(values.only, faults),
      defect: defectOf(values.defect),
    },
  };
}

/** The command that repeats a run. */
export function commandOf(settings: SimSettings): string {
  const { seed, workers, slots, tasks, taskSeconds, load, faults, only, defect } = settings;
  const parts = [
    `--seed ${seed} --workers ${workers} --tasks ${tasks} --faults ${faults}`,
    ...(only === undefined ? [] : [`--only ${only.length === 0 ? 'none' : only.join(',')}`]),
    ...(slots === 4 ? [] : [`--slots ${slots}`]),
    ...(taskSeconds === 10 ? [] : [`--task-s ${taskSeconds}`]),
    ...(load === 0.8 ? [] : [`--load ${load}`]),
    ...(defect === undefined ? [] : [`--defect ${defect}`]),
  ];
  return `make sim ARGS='${parts.join(' ')}'`;
}

function onlyOf(text: string | undefined, faults: number): readonly number[] | undefined {
  if (text === undefined) return undefined;
  if (text === 'none') return [];
  return text.split(',').map((one) => whole('--only', one, 0, Math.max(0, faults - 1)));
}

function defectOf(text: string | undefined): Defect | undefined {
  if (text === undefined) return undefined;
  const defect = DEFECTS.find((each) => each === text);
  if (defect) return defect;
  throw new Error(`--defect is one of ${DEFECTS.join(', ')}, not "${text}"`);
}

function whole(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Error(`${option} takes whole numbers from ${least} to ${most}, not "${text}"`);
}

function positive(option: string, text: string, most: number): number {
  const value = Number(text);
  if (value > 0 && value <= most) return value;
  throw new Error(`${option} takes a number above 0, at most ${most}, not "${text}"`);
}
