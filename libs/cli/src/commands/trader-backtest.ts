import { join, resolve } from 'node:path';
import { program } from '@hermes-fleet/installation';
import { definedFields, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { type Answer, BacktestRefusal, BacktestReport } from '@hermes-fleet/protocol/api';
import { z } from 'zod';
import { command, type Values } from '../command-line/command.ts';
import { readableReason } from '../command-line/field-errors.ts';
import { UsageError } from '../command-line/option-values.ts';
import { traderBacktestUsage } from '../command-specs/trader-books.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { type EntryPoint, readReport } from '../local/entry-point.ts';
import { nodeOptions } from '../local/plan.ts';
import { renderBacktest, renderComparison } from '../trader/render-backtest.ts';

/** Long enough for many strategies over half a million bars. */
const BACKTEST_MS = 60 * 60_000;

type BacktestValues = Values<typeof traderBacktestUsage.options>;

/**
 * `fleet trader backtest`: runs strategies over bars with the engine, the risk gate and the decision table of the trader.
 * Needs no fleet and no keys. Exit code 2 where an option or one of the files is wrong; nothing is written then.
 */
const backtestCommand = command(traderBacktestUsage, async ({ values, env, show }) => {
  const report = await runBacktest(entryPointOf(env), requestOf(values));
  show(report, values.compare ? renderComparison : renderBacktest);
  return 0;
});

export const commands = [backtestCommand];

/** The backtest's own entry point, which reads no configuration of a fleet. */
function entryPointOf(env: NodeJS.ProcessEnv): EntryPoint {
  // A history of bars outlives young collections: a large young generation copies it less often.
  const options = nodeOptions('--max-semi-space-size=32', env.NODE_OPTIONS);
  return { command: [program('backtest')], cwd: process.cwd(), env: { ...env, NODE_OPTIONS: options } };
}

/** Throws UsageError for a request or a file that the backtest refuses, and INTERNAL where it fails. */
async function runBacktest(
  backtest: EntryPoint,
  request: JsonObject,
): Promise<Answer<typeof BacktestReport>> {
  const report = await readReport(
    backtest,
    [JSON.stringify(request)],
    z.union([BacktestRefusal, BacktestReport]),
    { otherwise: 'the backtest failed', code: 'INTERNAL', timeoutMs: BACKTEST_MS },
  );
  if (!('error' in report)) return report;
  const { code, message, fields } = report.error;
  const lines = fields.map(
    ({ path, reason }) => `${code === 'INVALID_PARAMS' ? optionOf(path) : path} ${readableReason(reason)}`,
  );
  throw new UsageError([...new Set(lines.length > 0 ? lines : [message])].join('\n  '));
}

/** The options by the fields of the request that have another name. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  'synthetic.bars': 'bars',
  'synthetic.seed': 'seed',
  'synthetic.start_price': 'start-price',
  'synthetic.volatility_bps': 'volatility-bps',
  'synthetic.interval_s': 'interval-s',
  risk_mode: 'risk-mode',
};

/** The option that a field of the request comes from, with the rest of its path. */
function optionOf(path: string): string {
  const [name = '', ...rest] = path.split('.');
  const known = OPTION_OF_FIELD[path];
  if (known !== undefined) return `--${known}`;
  return Object.hasOwn(traderBacktestUsage.options, name)
    ? [`--${name}`, ...(rest.length > 0 ? [rest.join('.')] : [])].join(' ')
    : path;
}

/** The request that the options describe. Files are resolved against the working directory. Throws UsageError. */
function requestOf(values: BacktestValues): JsonObject {
  const { csv, synthetic, decisions, concern, orders } = values;
  if (csv !== undefined && synthetic) throw new UsageError('--csv and --synthetic contradict each other');
  const walk = definedFields({
    bars: numberOf('bars', values.bars),
    seed: numberOf('seed', values.seed),
    start_price: values['start-price'],
    volatility_bps: numberOf('volatility-bps', values['volatility-bps']),
    interval_s: numberOf('interval-s', values['interval-s']),
  });
  if (!synthetic && Object.keys(walk).length > 0)
    throw new UsageError('--bars, --seed, --start-price, --volatility-bps and --interval-s need --synthetic');
  if (csv === undefined && !synthetic && concern === undefined)
    throw new UsageError('name a file of bars with --csv, or use --synthetic');
  return definedFields({
    csv: csv && resolve(csv),
    synthetic: synthetic ? walk : undefined,
    config: resolve(values.config ?? join(currentFolder().home, 'trader/trader.yaml')),
    concern,
    strategies: strategiesOf(values),
    compare: values.compare ?? false,
    market: objectOf('market', values.market),
    risk_mode: values['risk-mode'],
    decisions: decisions && resolve(decisions),
    orders: orders && resolve(orders),
  });
}

function strategiesOf({ strategy = [], params = [], compare }: BacktestValues): JsonObject[] {
  if (strategy.length > 1 && !compare) throw new UsageError('add --compare to run several strategies');
  if (params.length > 0 && params.length !== strategy.length)
    throw new UsageError(
      `--params must be given once per --strategy: ${params.length} for ${strategy.length}`,
    );
  return strategy.map((name, at) =>
    definedFields({ strategy: name, params: objectOf('params', params[at]) }),
  );
}

function objectOf(option: string, text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  const value = parseJson(text);
  if (isJsonObject(value)) return value;
  throw new UsageError(`--${option} must be a JSON object, such as '{"levels": 8}'`);
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^-?\d{1,15}(\.\d{1,9})?$/.test(text)) return Number(text);
  throw new UsageError(`--${option} must be a number, not "${text}"`);
}
