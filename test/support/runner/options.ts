import { parseArgs } from 'node:util';
import type { Tier } from './test-files.ts';

export const USAGE = `node test/run.ts [options] [folder or file ...]

Runs test files, and closes with the most expensive ones, every failed test, and one line that counts. Without a folder or
file it runs the fast files of the repository, as make test does.

  --tier fast|slow|all   only these files; all where a folder or file is given
  --changed              only the unit tests that the changes since the main branch concern
  --due                  only files that test/suite.json does not vouch for: they have not passed whole on its commit, or
                         they reach what changed since
  --sixth                with --due: a sixth of the others too, another one at each commit
  --again                runs files that fail once more when no other test runs
  --until SECONDS        begins no file after that moment, in seconds since 1970, and names those that did not run
  --record               writes to test/suite.json which files passed, on which commit, and what each cost
  --help                 prints this`;

export interface RunnerOptions {
  readonly paths: readonly string[];
  readonly tier: Tier | 'all';
  readonly changed: boolean;
  readonly due: boolean;
  readonly sixth: boolean;
  readonly again: boolean;
  /** Seconds since 1970; Infinity without a limit. */
  readonly until: number;
  readonly record: boolean;
  readonly help: boolean;
}

/** Reads the arguments of the runner. Throws with what is wrong. */
export function readOptions(args: readonly string[]): RunnerOptions {
  const { values, positionals: paths } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      tier: { type: 'string' },
      changed: { type: 'boolean', default: false },
      due: { type: 'boolean', default: false },
      sixth: { type: 'boolean', default: false },
      again: { type: 'boolean', default: false },
      until: { type: 'string', default: 'Infinity' },
      record: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { changed, due, sixth, again, record, help } = values;
  const tier = values.tier ?? (paths.length > 0 ? 'all' : 'fast');
  const until = Number(values.until);
  if (tier !== 'fast' && tier !== 'slow' && tier !== 'all')
    throw new Error(`--tier ${tier}: must be fast, slow or all`);
  if (Number.isNaN(until)) throw new Error(`--until ${values.until}: must be seconds since 1970`);
  if (sixth && !due) throw new Error('--sixth goes with --due');
  if (record && (tier !== 'all' || sixth || changed || paths.length > 0))
    throw new Error('--record goes with --tier all, and with no folder or file: it vouches for all files');
  return { paths, tier, changed, due, sixth, again, until, record, help };
}
