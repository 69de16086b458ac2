import { join } from 'node:path';
import {
  createProblems,
  type MemberConfiguration,
  type MemberEnvironment,
  readMemberConfiguration,
  readUnvalidated,
  unvalidatedProblems,
} from '@hermes-fleet/gateway/member';
import type { Feed } from '@hermes-fleet/market';
import { createFeed } from '@hermes-fleet/market';
import { type FieldError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import { type TraderConfig, TraderConfigSchema } from './config/schema.ts';
import { concernId } from './config/settings.ts';
import { BREAKER, RESERVED } from './control/access.ts';

export interface Configuration extends MemberConfiguration {
  readonly trader: TraderConfig;
  /** By concern id. */
  readonly feeds: ReadonlyMap<string, Feed>;
}

/**
 * Reads the trader's fleet.yaml, trader.yaml and IDENTITY.md with the secrets and CSV files that they name. Throws one
 * CONFIG_INVALID that lists all problems.
 */
export function readConfiguration(
  environment: MemberEnvironment,
  env: SecretEnv,
  clock: Clock,
  processEnv: NodeJS.ProcessEnv = {},
): Configuration {
  const problems = createProblems(environment.name);
  const { whole } = readMemberConfiguration(environment, env, processEnv, problems);
  const file = join(environment.dir, 'trader.yaml');
  const trader = problems.attempt(() => loadYamlConfig({ file, schema: TraderConfigSchema, env }));
  const fleetFile = join(environment.dir, 'fleet.yaml');
  const known = callersIn(readUnvalidated(fleetFile, env)?.value);
  if (known) {
    problems.add(unvalidatedProblems(file, env, (raw) => unknownCallers(raw, known)));
    problems.add(unvalidatedProblems(fleetFile, env, () => reservedCallers(known)));
  }
  const feeds = new Map<string, Feed>();
  for (const { account_id, market_symbol, feed } of trader?.value.trader.concerns ?? []) {
    const made = problems.attempt(() => createFeed(feed, clock, environment.dir));
    if (made) feeds.set(concernId(account_id, market_symbol), made);
  }
  if (problems.found.length > 0 || !whole || !trader) throw problems.error();
  return {
    ...whole,
    trader: trader.value,
    feeds,
    notes: [...whole.notes, ...trader.notes],
    warnings: [...whole.warnings, ...idleCallers(trader.value, whole)],
  };
}

/** The callers in an unvalidated fleet.yaml. */
function callersIn(raw: unknown): JsonObject | undefined {
  const fleet = isJsonObject(raw) && isJsonObject(raw.fleet) ? raw.fleet : {};
  const { callers = {} } = isJsonObject(fleet.server) ? fleet.server : {};
  return isJsonObject(raw) && isJsonObject(callers) ? callers : undefined;
}

/** Callers of trader.yaml without a token in fleet.yaml. */
function unknownCallers(raw: unknown, known: JsonObject): FieldError[] {
  const trader = isJsonObject(raw) && isJsonObject(raw.trader) ? raw.trader : {};
  const named = isJsonObject(trader.callers) ? Object.keys(trader.callers) : [];
  return named
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => ({
      path: `trader.callers.${name}`,
      reason: `is not a caller in fleet.yaml: give ${name} a token under fleet.server.callers there`,
    }));
}

/** A caller with the name of circuit breakers would have all accounts, and pass for one in the audit. */
const reservedCallers = (known: JsonObject): FieldError[] =>
  Object.hasOwn(known, BREAKER) ? [{ path: `fleet.server.callers.${BREAKER}`, reason: RESERVED }] : [];

/** Callers with trader scopes but without accounts: all their requests are refused. */
function idleCallers({ trader }: TraderConfig, { fleet }: MemberConfiguration): string[] {
  return Object.entries(fleet.fleet.server?.callers ?? {})
    .filter(([name, { scopes }]) => {
      const asks = scopes.some((scope) => scope.startsWith('trader:'));
      return asks && !Object.hasOwn(trader.callers, name);
    })
    .map(
      ([name]) =>
        `trader.callers: ${name} has trader scopes but no accounts, so it is refused; list its accounts in trader.yaml`,
    );
}
