import type { Concern, OrderView, Runtime, Strategy } from '@hermes-fleet/market';
import { FleetError, invalidParams, parseJson } from '@hermes-fleet/protocol';
import {
  ControlAction,
  encodeStrategyDetail,
  encodeStrategyList,
  GetStrategyParams,
  ListStrategiesParams,
  type StrategyDetail,
  type StrategyStatus,
} from '@hermes-fleet/protocol/control';
import type { Caller } from '@hermes-fleet/protocol/ports';
import type { z } from 'zod';
import { type Access, mayTouch, NO_STRATEGY, needScope, READ } from './access.ts';
import type { Activation } from './activation.ts';
import type { ControlStore, DecisionRecord } from './control-store.ts';
import type { DecisionService } from './decision-service.ts';
import { parseInput } from './parse-input.ts';

const LAST_DECISIONS = 10;

/** What the books say of a strategy and its account; undefined until they are read. Never throws. */
export type PerformanceOf = (
  concernId: string,
  strategyId: string,
) => NonNullable<StrategyDetail['performance']> | undefined;

/** The two read methods. Strategies of other accounts are treated as nonexistent. */
export function createReads(options: {
  store: Pick<ControlStore, 'concerns' | 'strategies' | 'strategy' | 'decisions'>;
  runtime: Pick<Runtime, 'health' | 'view'>;
  activation: Pick<Activation, 'isOutOfSync'>;
  access: Access;
  brokenAudit: () => string | undefined;
  performanceOf: PerformanceOf;
}): Pick<DecisionService, 'list' | 'get'> {
  return {
    list: (caller, filterText) => {
      needScope(caller, READ);
      const filter = parseParams(ListStrategiesParams, filterText.trim() === '' ? '{}' : filterText);
      const { account_id: account, market_symbol: market, status } = filter;
      if (account !== undefined && !mayTouch(options.access, caller, account))
        throw new FleetError(
          'FORBIDDEN',
          'the caller has no access to the account; omit it to list all accounts of the caller',
        );
      const concerns = options.store.concerns();
      const strategies = options.store
        .strategies()
        .filter(({ accountId }) => mayTouch(options.access, caller, accountId))
        .map((strategy) => strategyView(strategy, concernOf(concerns, strategy)))
        .filter(
          (each) =>
            (account === undefined || each.accountId === account) &&
            (market === undefined || each.marketSymbol === market) &&
            (status === undefined || each.status === status),
        );
      return encodeStrategyList({ strategies });
    },
    get: (caller, filterText) => {
      needScope(caller, READ);
      const { strategy_id: id } = parseParams(GetStrategyParams, filterText);
      const strategy = own(options.access, caller, options.store.strategy(id));
      const concern = strategy && concernOf(options.store.concerns(), strategy);
      if (strategy === undefined || concern === undefined) {
        // NOT_FOUND in JSON-RPC means an unknown method.
        throw invalidParams('strategy_id', NO_STRATEGY);
      }
      const { activeStrategyId, rev, runState, riskMode } = concern;
      const health = options.runtime.health(concern.id);
      const isBehind = options.activation.isOutOfSync(concern.id);
      const isDegraded = health.degraded || options.brokenAudit() !== undefined || isBehind;
      const state = isDegraded ? 'degraded' : 'ok';
      const reasons = [
        ...health.reasons,
        ...(isBehind ? ['the runtime differs from the control state'] : []),
      ];
      const view = options.runtime.view(concern.id);
      return encodeStrategyDetail({
        strategy: strategyView(strategy, concern),
        control: { concernId: concern.id, activeStrategyId, rev, runState, riskMode, execution: state },
        position: view?.position ?? null,
        equity: view?.equity ?? null,
        performance: options.performanceOf(concern.id, strategy.id) ?? null,
        orders: {
          open: ordersOf(strategy, view?.openOrders),
          recent: ordersOf(strategy, view?.recentOrders),
        },
        execution: view ? { ...view.execution, state, reasons, lastBar: view.lastBar } : null,
        lastDecisions: options.store.decisions(concern.id, LAST_DECISIONS).flatMap(decisionSummary),
      });
    },
  };
}

function parseParams<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  const params = parseJson(text);
  if (params === undefined) throw new FleetError('INVALID_PARAMS', 'the parameters are not JSON');
  return parseInput(schema, params, 'the parameters are');
}

const own = (access: Access, caller: Caller, strategy: Strategy | undefined): Strategy | undefined =>
  strategy !== undefined && mayTouch(access, caller, strategy.accountId) ? strategy : undefined;

const concernOf = (
  concerns: readonly Concern[],
  { accountId, marketSymbol }: Strategy,
): Concern | undefined =>
  concerns.find((each) => each.accountId === accountId && each.marketSymbol === marketSymbol);

function strategyView(strategy: Strategy, concern: Concern | undefined): StrategyDetail['strategy'] {
  const { id, name, kind, accountId, marketSymbol, params } = strategy;
  return { id, name, kind, accountId, marketSymbol, params, status: statusOf(strategy, concern) };
}

function statusOf({ id, status }: Strategy, concern: Concern | undefined): StrategyStatus {
  if (status !== 'enabled') return status;
  return concern?.activeStrategyId === id ? 'active' : 'standby';
}

const ordersOf = ({ id }: Strategy, orders: readonly OrderView[] = []): StrategyDetail['orders']['open'] =>
  orders.filter(({ strategyId }) => strategyId === id).map(({ strategyId: _strategyId, ...order }) => order);

function decisionSummary(decision: DecisionRecord): StrategyDetail['lastDecisions'] {
  const { decisionId, caller, decidedAt, response } = decision;
  const action = ControlAction.safeParse(response.action);
  if (!action.success) return [];
  const { status, fromStrategyId, toStrategyId, riskMode } = response;
  return [
    {
      ...{ decisionId, caller, action: action.data, status, fromStrategyId, toStrategyId, riskMode },
      warnings: response.warnings.map(({ code }) => code),
      errors: response.errors.map(({ code }) => code),
      decidedAt: new Date(decidedAt).toISOString(),
    },
  ];
}
