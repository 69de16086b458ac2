import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readPage } from './report.ts';
import type { Section } from './section.ts';

export interface BenchOptions {
  readonly help: boolean;
  /** The sections to run, in their own order. */
  readonly sections: readonly Section[];
  readonly rounds: number;
  readonly concurrency: readonly number[];
  /** A file for all results as JSON. */
  readonly json: string | undefined;
  /** A Markdown file between whose markers the tables go. */
  readonly markdown: string | undefined;
  readonly writeBaseline: boolean;
  /** Whether a ratio that got worse makes the exit code 1. */
  readonly check: boolean;
}

/** Medians of fewer rounds are not worth a baseline. */
export const ROUNDS = 7;
const MAX_ROUNDS = 100;
const CONCURRENCY = '1,8,32';
const MAX_CONCURRENCY = 256;

export const HELP = `Usage: make bench [ONLY=<sections>] [ARGS=<options>]

  --only <sections>       run only these, separated by commas
  --rounds <n>            alternating rounds, ${ROUNDS} by default
  --concurrency <list>    requests at a time in the sections with a load, ${CONCURRENCY} by default
  --json <file>           write machine, tables and figures, with the value of every round, as JSON
  --markdown <file>       put the tables between the markers of a Markdown file
  --write-baseline        replace the ratios of the sections that run in test/bench/baseline.json
  --check                 end with exit code 1 if a ratio is worse than in the baseline
  --help                  print this
`;

/** Reads the command line. Throws an error that names the option and what it may be. */
export function readOptions(args: readonly string[], sections: readonly Section[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string', default: String(ROUNDS) },
      concurrency: { type: 'string', default: CONCURRENCY },
      json: { type: 'string' },
      markdown: { type: 'string' },
      'write-baseline': { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const rounds = whole('--rounds', values.rounds, MAX_ROUNDS);
  if (values['write-baseline'] && rounds < ROUNDS)
    throw new Error(`--write-baseline needs at least --rounds ${ROUNDS}, so that the noise is known`);
  if (values['write-baseline'] && values.concurrency !== CONCURRENCY)
    throw new Error(`--write-baseline needs --concurrency ${CONCURRENCY}, so that no ratio is lost`);
  for (const option of ['json', 'markdown'] as const) checkTarget(`--${option}`, values[option]);
  if (values.markdown !== undefined) readPage(values.markdown);
  return {
    help: values.help,
    sections: selected(values.only, sections),
    rounds,
    concurrency: values.concurrency.split(',').map((one) => whole('--concurrency', one, MAX_CONCURRENCY)),
    json: values.json,
    markdown: values.markdown,
    writeBaseline: values['write-baseline'],
    check: values.check,
  };
}

/** Throws if a file cannot be written, before the bench runs for minutes. */
function checkTarget(option: string, file: string | undefined): void {
  if (file === undefined) return;
  try {
    accessSync(existsSync(file) ? file : dirname(resolve(file)), constants.W_OK);
    if (existsSync(file) && !statSync(file).isFile()) throw new Error('it is not a file');
  } catch (cause) {
    throw new Error(`${option}: ${file} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

function selected(only: string | undefined, sections: readonly Section[]): readonly Section[] {
  if (only === undefined) return sections.filter(({ isDefault }) => isDefault);
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !sections.some((section) => section.name === name));
  if (unknown.length > 0) {
    const known = sections.map(({ name }) => name).join(', ');
    throw new Error(`--only names no section ${unknown.join(', ')}; there are: ${known}`);
  }
  return sections.filter(({ name }) => names.includes(name));
}

function whole(option: string, text: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw new Error(`${option} takes whole numbers from 1 to ${most}, not "${text}"`);
  return value;
}
