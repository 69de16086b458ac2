import { randomUUID } from 'node:crypto';
import { definedFields, type JsonObject } from '@hermes-fleet/protocol';
import { TRADER_RPC } from '@hermes-fleet/protocol/api';
import { readControlDecision } from '@hermes-fleet/protocol/control';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { fleetApi, RPC_MS, type Target } from '../client/api.ts';
import { command, type Values } from '../command-line/command.ts';
import { invalidOptions } from '../command-line/field-errors.ts';
import { oneArgument, UsageError } from '../command-line/option-values.ts';
import { table } from '../command-line/output.ts';
import {
  DECISION_OPTIONS,
  traderDecideUsage,
  traderGetUsage,
  traderListUsage,
} from '../command-specs/trader.ts';
import { findTrader, readInput } from '../running/running-fleet.ts';
import { decide, renderDecision } from '../trader/decide.ts';
import { renderStrategy } from '../trader/render.ts';

const EXIT_CODES: Readonly<Record<string, number>> = { applied: 0, noop: 0, rejected: 3 };

/** `fleet trader list`: prints the strategies that match the options. */
const listCommand = command(traderListUsage, async ({ values, env, show }) => {
  const { account: account_id, market: market_symbol, status } = values;
  const filter = definedFields({ account_id, market_symbol, status });
  const target = await findTrader(values, env);
  show(
    await fleetApi().rpc(target, TRADER_RPC.listStrategies, filter, { timeoutMs: RPC_MS }),
    ({ strategies }) =>
      table(
        ['status', 'name', 'kind', 'account', 'market', 'id'],
        strategies.map((each) => [
          ...[each.status, each.name, each.kind, each.account_id, each.market_symbol, each.id],
        ]),
        'no strategy matches',
      ),
  );
});

/** `fleet trader get <strategy>`: prints a strategy with its control state, position and orders. */
const getCommand = command(traderGetUsage, async ({ values, positionals, env, show }) => {
  const strategy_id = oneArgument(positionals, 'trader get takes the id of one strategy');
  const target = await findTrader(values, env);
  show(
    await fleetApi().rpc(target, TRADER_RPC.getStrategy, { strategy_id }, { timeoutMs: RPC_MS }),
    renderStrategy,
  );
});

/**
 * `fleet trader decide`: sends a decision from a file, unchanged, or from options, and prints the answer. Exit code 0
 * when the decision is applied or changes nothing, 3 when it is rejected, 1 when it fails.
 */
const decideCommand = command(traderDecideUsage, async ({ values, positionals, env, stdin, show }) => {
  const [file, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`trader decide takes one file, not "${positionals.join(' ')}"`);
  if (file !== undefined && describesDecision(values))
    throw new UsageError('a file holds the whole decision: leave out the options that describe one');
  if (file === undefined && values.action === undefined)
    throw new UsageError('trader decide takes a file, - for stdin, or --action and --reason');
  const target = await findTrader(values, env);
  const payload =
    file === undefined
      ? JSON.stringify(decisionOf(values, values.concern ?? (await onlyConcern(target)), systemClock.now()))
      : await readInput(file, stdin, 'a control decision');
  const response = await decide(target, payload);
  show(response, renderDecision);
  return EXIT_CODES[response.status] ?? 1;
});

export const commands = [listCommand, getCommand, decideCommand];

const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  decision_id: 'id',
  concern_id: 'concern',
  account_id: 'concern',
  market_symbol: 'concern',
  action: 'action',
  target_strategy_id: 'target',
  expected_active_strategy_id: 'expected',
  risk_mode: 'risk-mode',
  reason: 'reason',
  confidence: 'confidence',
};

type DecisionValues = Values<typeof DECISION_OPTIONS>;

const describesDecision = (values: DecisionValues): boolean =>
  Object.keys(DECISION_OPTIONS).some((key) => key in values);

/**
 * Builds the wire form of a decision from options. The confidence defaults to 1; `--expected none` expects that no
 * strategy is active. Throws UsageError that names every invalid option.
 */
function decisionOf(values: DecisionValues, concern: string, now: number): JsonObject {
  const [account = '', ...market] = concern.split(':');
  const { expected } = values;
  const decision = definedFields({
    decision_id: values.id ?? `cli-${randomUUID()}`,
    concern_id: concern,
    account_id: account,
    market_symbol: market.join(':'),
    action: values.action,
    target_strategy_id: values.target,
    expected_active_strategy_id: expected === 'none' ? null : expected,
    risk_mode: values['risk-mode'],
    reason: values.reason,
    confidence: confidenceOf(values.confidence),
    dry_run: values['dry-run'] === true ? true : undefined,
    override: values.override === true ? true : undefined,
    requested_at: new Date(now).toISOString(),
  });
  const reading = readControlDecision(JSON.stringify(decision));
  if ('decision' in reading) return decision;
  throw invalidOptions(reading.fields, OPTION_OF_FIELD);
}

function confidenceOf(text: string | undefined): number {
  if (text === undefined) return 1;
  if (!/^(0|1|0?\.\d+|[01]\.\d+)$/.test(text))
    throw new UsageError(`--confidence must be a number from 0 to 1, not "${text}"`);
  return Number(text);
}

/** The concern of a trader that has exactly one. Throws UsageError that names the concerns when there are several. */
async function onlyConcern(trader: Target): Promise<string> {
  const { strategies } = await fleetApi().rpc(trader, TRADER_RPC.listStrategies, {}, { timeoutMs: RPC_MS });
  const concerns = new Set(strategies.map((each) => `${each.account_id}:${each.market_symbol}`));
  const [only] = concerns;
  if (only !== undefined && concerns.size === 1) return only;
  throw new UsageError(
    concerns.size === 0
      ? 'the trader has no strategy, so no concern to decide about'
      : `say which --concern: ${[...concerns].join(', ')}`,
  );
}
