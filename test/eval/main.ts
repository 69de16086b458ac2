import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FleetError } from '@hermes-fleet/protocol';
import type { EvalBrief } from './brief.ts';
import { evaluate } from './evaluate.ts';
import { evalSettings, isPlayed } from './model.ts';
import { readBriefs } from './read-briefs.ts';
import { tableOf, totals } from './report.ts';
import { newId } from './run-brief.ts';

const HELP = `Usage: node test/eval/main.ts [options]

Runs the briefs of test/eval/briefs with a real agent (workspace, confinement, guards, tools) on a model, checks each
outcome, and prints a table. A longer brief has a script beside it, which --list names: the answers of a model. The
default model is offline/runbook, which needs no network and no key. It carries out the short briefs; a scripted server
on loopback plays the scripts. With another model, that model gets all briefs, and the scripts are not used.

  --model NAME        offline/runbook, anthropic/<name>, openai-compatible/<name>; default $MODEL
  --base-url URL      the base URL of the model's API; default $BASE_URL
  --api-key-env NAME  the variable that holds the API key; default $API_KEY_ENV
  --config FILE       a profile's config.yaml instead: its model, executor, guards and limits; default $CONFIG
  --only NAMES        run only these briefs, separated by commas
  --parallel N        run N briefs at a time, 1 to 16; default 1
  --json FILE         also write all results to FILE; - prints them instead of the table
  --list              list the briefs with their descriptions; run nothing
  --help              print this help

Each brief has a token budget and a deadline. Exit codes: 0 when all briefs pass, 1 when one fails, 2 when none ran. A
brief is skipped, with a reason, when this machine lacks what it needs, such as a way to confine commands.`;

async function main(args: string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    const isUsage =
      error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
    if (!isUsage && !(error instanceof FleetError) && !(error instanceof UsageError)) throw error;
    const fields =
      error instanceof FleetError ? error.fields.map(({ path, reason }) => `\n  ${path}: ${reason}`) : [];
    console.error(`eval: ${error.message}${fields.join('')}${isUsage ? '; see --help' : ''}`);
    return 2;
  }
}

async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      model: { type: 'string' },
      'base-url': { type: 'string' },
      'api-key-env': { type: 'string' },
      config: { type: 'string' },
      only: { type: 'string' },
      parallel: { type: 'string', default: '1' },
      json: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return say(HELP);
  const all = await readBriefs(join(import.meta.dirname, 'briefs'), newId);
  if (values.list) return say(all.map(({ brief }) => listed(brief)).join('\n'));
  const briefs = chosen(all, values.only);
  const { MODEL, BASE_URL, API_KEY_ENV, CONFIG } = process.env;
  const config = values.config ?? (values.model ? undefined : CONFIG || undefined);
  const settings = evalSettings(
    {
      model: values.model ?? MODEL,
      baseUrl: values['base-url'] ?? BASE_URL,
      apiKeyEnv: values['api-key-env'] ?? API_KEY_ENV,
      config,
    },
    process.env,
  );
  const aborted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => aborted.abort(new FleetError('CANCELED', `stopped by ${signal}`)));
  }
  const scripts = briefs.filter(({ brief }) => isPlayed(brief, settings)).length;
  const played = scripts > 0 ? ` (${scripts} of them played from their scripts)` : '';
  const isJsonOnly = values.json === '-';
  const table = tableOf(briefs.map(({ brief }) => brief.name));
  if (!isJsonOnly) say(`${settings.config.model}, ${briefs.length} briefs${played}\n\n${table.head()}`);
  const verdicts = await evaluate(briefs, settings, {
    parallel: parallelOf(values.parallel),
    signal: aborted.signal,
    onVerdict: (verdict) => isJsonOnly || say(table.row(verdict)),
  });
  if (!isJsonOnly) say(table.total(verdicts));
  const sum = totals(verdicts);
  const { model, executor } = settings.config;
  const json = JSON.stringify(
    { model, executor, at: new Date().toISOString(), totals: sum, briefs: verdicts },
    null,
    2,
  );
  if (isJsonOnly) say(json);
  else if (values.json !== undefined) writeFileSync(values.json, `${json}\n`);
  return sum.failed > 0 || sum.passed === 0 ? 1 : 0;
}

class UsageError extends Error {
  override readonly name = 'UsageError';
}

function say(text: string): 0 {
  console.log(text);
  return 0;
}

const listed = ({ name, about, script }: EvalBrief): string =>
  `${name}${script === undefined ? '' : ' (script)'}: ${about}`;

function chosen<T extends { readonly brief: { readonly name: string } }>(
  all: readonly T[],
  only: string | undefined,
): T[] {
  if (only === undefined) return [...all];
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !all.some(({ brief }) => brief.name === name));
  if (unknown.length > 0) throw new UsageError(`there is no brief ${unknown.join(', ')}; see --list`);
  return all.filter(({ brief }) => names.includes(brief.name));
}

function parallelOf(text: string): number {
  const parallel = Number(text);
  if (Number.isInteger(parallel) && parallel >= 1 && parallel <= 16) return parallel;
  throw new UsageError(`--parallel ${text}: must be a number from 1 to 16`);
}

process.exitCode = await main(process.argv.slice(2));
