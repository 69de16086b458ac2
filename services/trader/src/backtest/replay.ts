import {
  type Concern,
  createSimulation,
  type SimulatedOrder,
  type Simulation,
  type SimulationResult,
  type Strategy,
} from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';
import type { ControlDecision, ControlResponse } from '@hermes-fleet/protocol/control';
import { whyUnrunnable } from '../control/actions.ts';
import { failedResponse } from '../control/answers.ts';
import { withOutcome } from '../control/apply-or-roll-back.ts';
import { fingerprintOf } from '../control/decide-parts.ts';
import type { Facts } from '../control/facts.ts';
import { judge } from '../control/judge.ts';
import type { Bars } from './bars.ts';
import type { Scenario } from './scenario.ts';
import type { ScriptedDecision } from './script.ts';

/** A decision of the script, with its answer. */
export interface Answered {
  readonly line: number;
  readonly afterBars: number;
  readonly response: ControlResponse;
}

export interface Replayed {
  readonly strategy: Strategy;
  readonly result: SimulationResult;
  /** The state after the last bar. */
  readonly concern: Concern;
  readonly answers: readonly Answered[];
  readonly firstOpen: string;
}

export interface ReplayOptions {
  readonly scenario: Scenario;
  /** The strategy that is active at first. */
  readonly strategy: Strategy;
  readonly bars: Bars;
  readonly script: readonly ScriptedDecision[];
  readonly onOrder?: ((order: SimulatedOrder) => void) | undefined;
}

/** Runs a strategy over the bars, and makes the decisions of the script between them. */
export function replay({ scenario, strategy, bars, script, onOrder }: ReplayOptions): Replayed {
  const { id, concern } = { id: scenario.concern.id, concern: scenario.concern };
  const { market, degraded } = scenario;
  const simulation = createSimulation({ concernId: id, market, degraded, onOrder });
  const desk = createDesk(scenario, simulation, { ...concern, activeStrategyId: strategy.id });
  const answers: Answered[] = [];
  let next = 0;
  let closed = 0;
  let now: number | undefined;
  let firstOpen = '0';
  const decideUntil = (afterBars: number, time: number): void => {
    for (let due = script[next]; due !== undefined && due.afterBars <= afterBars; due = script[next]) {
      const { line, at, decision } = due;
      answers.push({ line, afterBars: due.afterBars, response: desk(decision, at ?? time) });
      next += 1;
    }
  };
  for (const bar of bars) {
    if (now === undefined) firstOpen = bar.open.toFixed();
    // Before the first bar its closing time is the only one that is known.
    decideUntil(closed, now ?? bar.at);
    simulation.bar(bar);
    closed += 1;
    now = bar.at;
  }
  decideUntil(closed, now ?? 0);
  return { strategy, result: simulation.finish(), concern: desk.concern(), answers, firstOpen };
}

interface Desk {
  (decision: ControlDecision, now: number): ControlResponse;
  concern(): Concern;
}

/** Judges decisions by the decision table and applies them to the simulation, as the trader does (docs/trader.md#state). */
function createDesk(scenario: Scenario, simulation: Simulation, first: Concern): Desk {
  const decided = new Map<string, NonNullable<Facts['previous']>>();
  let concern = first;

  function strategyOf(id: string | null | undefined): Strategy | undefined {
    const found = scenario.strategies.find((each) => each.id === id);
    return found && simulation.faulted(found.id) !== undefined ? { ...found, status: 'faulted' } : found;
  }

  function factsOf(decision: ControlDecision, now: number): Facts {
    const { decisionId, targetStrategyId, concernId } = decision;
    const own = concernId === concern.id ? concern : undefined;
    const target = strategyOf(targetStrategyId);
    const active = own && strategyOf(own.activeStrategyId);
    return {
      now,
      concern: own,
      target,
      active,
      previous: decided.get(decisionId),
      policy: scenario.policy,
      degraded: own !== undefined && simulation.reasons().length > 0,
      unrunnable: whyUnrunnable(decision, { target, active }, simulation),
    };
  }

  function apply(decision: ControlDecision, next: Concern, response: ControlResponse): ControlResponse {
    try {
      const done = simulation.reconcile(next, strategyOf(next.activeStrategyId), decision.decisionId);
      concern = next;
      return withOutcome(response, done);
    } catch (thrown) {
      if (!(thrown instanceof FleetError)) throw thrown;
      const message = `${thrown.message}; the previous state stays in effect`;
      return failedResponse(response, {
        before: concern,
        errors: [{ code: 'activation_failed', message }],
        result: { modeChange: 'restored', reconciled: true },
      });
    }
  }

  function decide(decision: ControlDecision, now: number): ControlResponse {
    const fingerprint = fingerprintOf(decision);
    const { response: judged, next, isFirst } = judge(decision, fingerprint, factsOf(decision, now));
    const response = next === undefined ? judged : apply(decision, next, judged);
    if (isFirst) decided.set(decision.decisionId, { fingerprint, response });
    return response;
  }

  simulation.reconcile(concern, strategyOf(concern.activeStrategyId));
  return Object.assign(decide, { concern: () => concern });
}
