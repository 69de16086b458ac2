import {
  type Concern,
  createStrategy,
  type DegradedConfig,
  DegradedSchema,
  type FeedConfig,
  type Market,
  MarketSchema,
  type MarketWire,
  readMarket,
  STRATEGY_KINDS,
  type Strategy,
  wrongFields,
} from '@hermes-fleet/market';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';
import { type TraderConfig, TraderConfigSchema } from '../config/schema.ts';
import { concernId, settingsOf } from '../config/settings.ts';
import type { Policy } from '../control/facts.ts';
import { type BacktestRequest, wrongField } from './request.ts';

/** What the runs of a backtest have in common, and the strategy that each begins with. */
export interface Scenario {
  /** Without an active strategy. */
  readonly concern: Concern;
  readonly market: Market;
  readonly marketWire: MarketWire;
  readonly degraded: DegradedConfig;
  readonly policy: Policy;
  /** Of the concern, absent without one. */
  readonly feed: FeedConfig | undefined;
  /** Strategies that decisions can switch to. */
  readonly strategies: readonly Strategy[];
  readonly runs: readonly Strategy[];
}

type ConcernConfig = TraderConfig['trader']['concerns'][number];

/** The account and market of a backtest without a concern. */
const OWN = { accountId: 'backtest', marketSymbol: 'paper' };
const OWN_MARKET = {
  balances: { quote: '10000', base: '0' },
  limits: { max_order: '1000000000', max_position: '1000000000', min_order: '0.000001' },
};

/** Reads trader.yaml where it is needed, and finds the strategies. Throws INVALID_PARAMS and CONFIG_INVALID. */
export function readScenario(request: BacktestRequest, env: NodeJS.ProcessEnv): Scenario {
  const config = isConfigNeeded(request) ? readConfig(request.config, env) : undefined;
  const configured = config && findConcern(request, config);
  const policy = settingsOf(config ?? { trader: TRADER_DEFAULTS }).policy;
  const { accountId, marketSymbol } = configured
    ? { accountId: configured.account_id, marketSymbol: configured.market_symbol }
    : OWN;
  const id = concernId(accountId, marketSymbol);
  const known = config
    ? settingsOf(config).strategies.filter((each) => concernId(each.accountId, each.marketSymbol) === id)
    : kindsOf({ accountId, marketSymbol });
  const marketWire = marketOf(configured, request.market);
  const listed = (configured ? known : (config?.trader.strategies ?? [])).map(({ id: each }) => each);
  const active = configured?.active_strategy_id;
  const runs = runsOf(request, { known, listed, accountId, marketSymbol, active });
  return {
    concern: {
      id,
      accountId,
      marketSymbol,
      activeStrategyId: null,
      runState: 'running',
      riskMode: request.risk_mode,
      rev: 1,
    },
    market: readMarket(marketWire),
    marketWire,
    degraded: configured?.degraded ?? DegradedSchema.parse({}),
    policy,
    feed: configured?.feed,
    strategies: [...known.filter((each) => !runs.some(({ id: ran }) => ran === each.id)), ...runs],
    runs,
  };
}

const isConfigNeeded = ({ concern, strategies }: BacktestRequest): boolean =>
  concern !== undefined || strategies.some(({ strategy }) => !Object.hasOwn(STRATEGY_KINDS, strategy));

const readConfig = (file: string, env: NodeJS.ProcessEnv): TraderConfig =>
  loadYamlConfig({ file, schema: TraderConfigSchema, env: createSecretEnv(env) }).value;

const TRADER_DEFAULTS: TraderConfig['trader'] = {
  policy: { max_age_s: 300, future_slack_s: 60, min_confidence: 0, strict_degraded: false },
  rate: { per_second: 50, burst: 200, kept_for_pause: 20 },
  audit: { verify_every_s: 300 },
  callers: {},
  accounts: {},
  concerns: [],
  strategies: [],
};

const idOf = (each: { readonly account_id: string; readonly market_symbol: string }): string =>
  concernId(each.account_id, each.market_symbol);

/** The concern that is named, or that of the first strategy. */
function findConcern(
  { concern, strategies }: BacktestRequest,
  { trader }: TraderConfig,
): ConcernConfig | undefined {
  const names = trader.concerns.map(idOf).join(', ');
  if (concern !== undefined) {
    const found = trader.concerns.find((each) => idOf(each) === concern);
    if (found) return found;
    throw wrongField('concern', `trader.yaml has no concern ${concern}; it has ${names}`);
  }
  for (const { strategy } of strategies) {
    const listed = trader.strategies.find(({ id }) => id === strategy);
    if (listed) return trader.concerns.find((each) => idOf(each) === idOf(listed));
  }
  return undefined;
}

/** Each kind as a strategy with its default parameters, whose id is the kind. */
const kindsOf = (of: Pick<Strategy, 'accountId' | 'marketSymbol'>): Strategy[] =>
  Object.keys(STRATEGY_KINDS).map((kind) => ({
    ...of,
    id: kind,
    name: kind,
    kind,
    params: {},
    status: 'enabled',
  }));

function marketOf(concern: ConcernConfig | undefined, changes: JsonObject = {}): MarketWire {
  const shape = Object.keys(MarketSchema.shape);
  const base = concern
    ? Object.fromEntries(Object.entries(concern).filter(([key]) => shape.includes(key)))
    : OWN_MARKET;
  const parsed = MarketSchema.safeParse(merged(base, changes));
  if (parsed.success) return parsed.data;
  const fields = wrongFields(parsed.error, 'market', 'is not a market setting');
  throw new FleetError('INVALID_PARAMS', 'the market settings are not valid', { fields });
}

/** The keys of `changes` replace those of `base`, also within objects. */
function merged(base: object, changes: JsonObject): JsonObject {
  const all: JsonObject = JSON.parse(JSON.stringify(base));
  for (const [key, value] of Object.entries(changes)) {
    const before = all[key];
    all[key] = isJsonObject(before) && isJsonObject(value) ? merged(before, value) : value;
  }
  return all;
}

interface Candidates {
  readonly known: readonly Strategy[];
  /** The ids that an error names. */
  readonly listed: readonly string[];
  readonly accountId: string;
  readonly marketSymbol: string;
  readonly active: string | null | undefined;
}

/** The strategies that runs begin with, each with valid parameters and an id of its own. */
function runsOf({ strategies, compare, orders }: BacktestRequest, candidates: Candidates): Strategy[] {
  const { known, active } = candidates;
  const all = known.filter(({ status }) => status === 'enabled').map(asRequested);
  const own = known.filter(({ id }) => id === active).map(asRequested);
  const asked = strategies.length > 0 ? strategies : compare ? all : own;
  if (asked.length === 0) throw wrongField('strategy', 'name a strategy of trader.yaml, or a kind');
  if (asked.length > 1 && !compare) throw wrongField('strategy', 'add --compare to run several strategies');
  if (asked.length > 1 && orders !== undefined)
    throw wrongField('orders', 'takes the orders of one strategy');
  const runs: Strategy[] = [];
  for (const { strategy, params: changes = {} } of asked) {
    const found = findStrategy(strategy, candidates);
    const params = { ...found.params, ...changes };
    const same = runs.filter(({ id }) => id === found.id || id.startsWith(`${found.id}-`)).length;
    const run = { ...found, params, id: same === 0 ? found.id : `${found.id}-${same + 1}` };
    assertRunnable(run);
    runs.push(run);
  }
  return runs;
}

const asRequested = ({ id }: Strategy): BacktestRequest['strategies'][number] => ({ strategy: id });

function findStrategy(name: string, { known, listed, accountId, marketSymbol }: Candidates): Strategy {
  const own = known.find(({ id }) => id === name);
  // A strategy that is asked for by name runs, whatever its status.
  if (own) return { ...own, status: 'enabled' };
  const kind = kindsOf({ accountId, marketSymbol }).find(({ id }) => id === name);
  if (kind) return kind;
  const kinds = Object.keys(STRATEGY_KINDS).join(', ');
  const of = listed.length === 0 ? '' : `, nor one of ${listed.join(', ')} in trader.yaml`;
  throw wrongField('strategy', `${name} is not a kind (${kinds})${of}`);
}

function assertRunnable(strategy: Strategy): void {
  try {
    createStrategy(strategy);
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    throw new FleetError('INVALID_PARAMS', thrown.message, { fields: thrown.fields, cause: thrown });
  }
}
