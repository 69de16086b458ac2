import type { FleetPlan } from '@hermes-fleet/cli';
import type { FleetControl } from '../fleet/fleet-control.ts';
import type { LoadProcess } from '../http/load.ts';

/** One number that is measured once in each round. */
export interface Figure {
  /** Names the figure in the JSON, in the baseline and in `targets.ts`: `<section>.<name>`. */
  readonly key: string;
  /** A `ratio` compares two contenders of one round, so that the baseline can hold it for other machines. */
  readonly unit: 'ratio' | 'per second' | 'µs' | 'ms' | 's' | 'kB' | 'MB' | 'share';
  readonly better: 'higher' | 'lower';
  /** One value for each round. */
  readonly values: readonly number[];
  /** The fewest samples that one value is made of, where it is a rate or a quantile. */
  readonly samples?: number;
  /** What a reader of the figure must know, for the table of targets. */
  readonly note?: string;
}

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface SectionResult {
  readonly tables: readonly Table[];
  readonly figures: readonly Figure[];
}

/** The cores of servers and load; undefined where processes cannot be tied to cores. */
export interface Cores {
  readonly server: number;
  readonly load: number;
}

export interface BenchContext {
  /** A folder for everything that a section writes; removed at the end. */
  readonly dir: string;
  /** The number of alternating rounds. */
  readonly rounds: number;
  /** Requests at a time, for the sections with a load. */
  readonly concurrency: readonly number[];
  readonly cores: Cores | undefined;
  /** The process that sends requests; started at its first use. */
  load(): Promise<LoadProcess>;
  /** The layout of the fleet, which a section may start and stop. */
  readonly plan: FleetPlan;
  /** The fleet of that layout; a section that finds it stopped starts it. */
  readonly fleet: FleetControl;
}

export interface Section {
  readonly name: string;
  /** What it measures, for `--help`. */
  readonly about: string;
  /** False for a section that runs only when it is named. */
  readonly isDefault: boolean;
  run(context: BenchContext): Promise<SectionResult>;
}
