import type { Concern, Runtime, Strategy } from '@hermes-fleet/market';
import { type ControlAction, type ControlDecision, RiskMode } from '@hermes-fleet/protocol/control';

/** What an action means for its concern (docs/trader.md#decision-table). */
interface Action {
  change(request: ControlDecision): Partial<Concern>;
  /** The strategy that must be able to run; undefined where none must. */
  toRun(of: Strategies): Strategy | undefined;
  /** `step` is above 0 if the risk mode of the request risks more than the present one. */
  raisesRisk(step: number, request: ControlDecision, concern: Concern): boolean;
}

interface Strategies {
  readonly target: Strategy | undefined;
  readonly active: Strategy | undefined;
}

const riskOf = ({ riskMode }: ControlDecision): Partial<Concern> =>
  riskMode === undefined ? {} : { riskMode };

const ACTIONS: Readonly<Record<ControlAction, Action>> = {
  switch: {
    change: (request) => ({ ...riskOf(request), activeStrategyId: request.targetStrategyId ?? null }),
    toRun: ({ target }) => target,
    // A switch to the strategy that is active already changes the risk mode alone.
    raisesRisk: (step, request, concern) =>
      request.targetStrategyId !== concern.activeStrategyId || step >= 0,
  },
  pause: {
    change: () => ({ runState: 'paused' }),
    toRun: () => undefined,
    raisesRisk: (step) => step > 0,
  },
  resume: {
    change: () => ({ runState: 'running' }),
    toRun: ({ active }) => active,
    raisesRisk: () => true,
  },
  set_risk_mode: {
    change: riskOf,
    toRun: () => undefined,
    raisesRisk: (step) => step > 0,
  },
};

/** True if the decision can raise risk. Only such decisions are refused for low confidence or degraded execution. */
export function raisesRisk(request: ControlDecision, concern: Concern): boolean {
  const modes = RiskMode.options;
  const step = modes.indexOf(concern.riskMode) - modes.indexOf(request.riskMode ?? concern.riskMode);
  return ACTIONS[request.action].raisesRisk(step, request, concern);
}

/** Why the strategy that must be able to run cannot; undefined if it can, and for one that is not enabled. */
export function whyUnrunnable(
  { action }: ControlDecision,
  of: Strategies,
  { preflight }: Pick<Runtime, 'preflight'>,
): string | undefined {
  const strategy = ACTIONS[action].toRun(of);
  return strategy?.status === 'enabled' ? preflight(strategy) : undefined;
}

/** The concern after the decision; undefined if the decision changes nothing. */
export function nextState(request: ControlDecision, concern: Concern): Concern | undefined {
  const wanted: Concern = { ...concern, ...ACTIONS[request.action].change(request) };
  const isSame =
    wanted.activeStrategyId === concern.activeStrategyId &&
    wanted.runState === concern.runState &&
    wanted.riskMode === concern.riskMode;
  return isSame ? undefined : { ...wanted, rev: concern.rev + 1 };
}
