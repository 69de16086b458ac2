import { createStrategy } from '@hermes-fleet/market';
import { FleetError, isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import { BREAKER, RESERVED } from '../control/access.ts';

type Path = (string | number)[];
type Add = (path: Path, message: string) => void;

/** An unvalidated entry of a list. */
interface Entry {
  readonly at: number;
  readonly value: JsonObject;
}

/**
 * The checks of trader.yaml that span several keys. They run together with the field checks, on an unvalidated value, so
 * that a start reports all problems at once.
 */
export function crossCheck(value: unknown, ctx: z.core.$RefinementCtx): void {
  const trader = isJsonObject(value) && isJsonObject(value.trader) ? value.trader : {};
  const add: Add = (path, message) => ctx.addIssue({ code: 'custom', path: ['trader', ...path], message });
  const concerns = entriesOf(trader.concerns);
  const strategies = entriesOf(trader.strategies);
  checkConcerns(concerns, strategies, add);
  checkStrategies(concerns, strategies, add);
  checkAccounts(concerns, trader, add);
  checkRate(trader.rate, add);
}

function checkConcerns(concerns: readonly Entry[], strategies: readonly Entry[], add: Add): void {
  eachRepeated(concerns, concernOf, (at, concern, first) =>
    add(
      ['concerns', at],
      `repeats the concern ${concern} of entry ${first}: keep one for each account and market`,
    ),
  );
  for (const { at, value } of concerns) {
    const id = value.active_strategy_id;
    if (typeof id !== 'string') continue;
    const wrong = (message: string): void => add(['concerns', at, 'active_strategy_id'], message);
    const active = strategies.find((strategy) => strategy.value.id === id)?.value;
    if (active === undefined) wrong(`there is no strategy ${id}: list it under strategies, or use null`);
    else if (concernOf(active) !== concernOf(value))
      wrong(`strategy ${id} is of ${concernOf(active) ?? 'another concern'}`);
    else if (active.status === 'disabled') wrong(`strategy ${id} is disabled: enable it, or use null`);
  }
}

function checkStrategies(concerns: readonly Entry[], strategies: readonly Entry[], add: Add): void {
  eachRepeated(
    strategies,
    ({ id }) => (typeof id === 'string' ? id : undefined),
    (at, id, first) =>
      add(['strategies', at, 'id'], `repeats the id of entry ${first} (${id}): each strategy needs its own`),
  );
  const known = new Set(concerns.map(({ value }) => concernOf(value)));
  for (const { at, value } of strategies) {
    const concern = concernOf(value);
    if (concern !== undefined && !known.has(concern))
      add(['strategies', at], `is of ${concern}, which is not a concern: list it under concerns`);
    for (const { path, message } of problemsOf(value)) add(['strategies', at, ...path], message);
  }
}

/** Problems with the kind and its parameters. */
function problemsOf({ id, kind, params = {} }: JsonObject): { path: Path; message: string }[] {
  if (typeof kind !== 'string' || !isJsonObject(params)) return [];
  try {
    createStrategy({ id: String(id), kind, params });
    return [];
  } catch (thrown) {
    if (!(thrown instanceof FleetError) || thrown.code !== 'CONFIG_INVALID') throw thrown;
    if (thrown.fields.length === 0) return [{ path: [], message: thrown.message }];
    return thrown.fields.map(({ path, reason }) => ({ path: pathOf(path), message: reason }));
  }
}

function checkAccounts(
  concerns: readonly Entry[],
  { callers, accounts: settings }: JsonObject,
  add: Add,
): void {
  const known = new Set(concerns.map(({ value }) => value.account_id));
  for (const account of Object.keys(isJsonObject(settings) ? settings : {}))
    if (!known.has(account)) add(['accounts', account], `no concern belongs to the account ${account}`);
  for (const [name, caller] of Object.entries(isJsonObject(callers) ? callers : {})) {
    if (name === BREAKER) add(['callers', name], RESERVED);
    const accounts = isJsonObject(caller) && Array.isArray(caller.accounts) ? caller.accounts : [];
    for (const [at, account] of accounts.entries())
      if (typeof account === 'string' && account !== '*' && !known.has(account))
        add(['callers', name, 'accounts', at], `no concern belongs to the account ${account}`);
  }
}

function checkRate(rate: JsonValue | undefined, add: Add): void {
  const { burst, kept_for_pause: kept } = isJsonObject(rate) ? rate : {};
  if (typeof burst === 'number' && typeof kept === 'number' && kept >= burst)
    add(['rate', 'kept_for_pause'], `must be below the burst of ${burst}: nothing else could be decided`);
}

function eachRepeated(
  entries: readonly Entry[],
  keyOf: (value: JsonObject) => string | undefined,
  found: (at: number, key: string, first: number) => void,
): void {
  const first = new Map<string, number>();
  for (const { at, value } of entries) {
    const key = keyOf(value);
    if (key === undefined) continue;
    const before = first.get(key);
    if (before === undefined) first.set(key, at);
    else found(at, key, before + 1);
  }
}

function entriesOf(list: JsonValue | undefined): Entry[] {
  const items = Array.isArray(list) ? list : [];
  return items.flatMap((value, at) => (isJsonObject(value) ? [{ at, value }] : []));
}

function concernOf({ account_id: account, market_symbol: market }: JsonObject): string | undefined {
  return typeof account === 'string' && typeof market === 'string' ? `${account}:${market}` : undefined;
}

/** Splits `params.levels[0].price` into its keys. */
function pathOf(path: string): Path {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  return keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
}
