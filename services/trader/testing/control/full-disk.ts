import { CONCERN, type Request } from './decisions.ts';
import type { TestDecisionService } from './harness.ts';

export const HALT: Request = { action: 'set_risk_mode', riskMode: 'halted' };
/** A failed write is tried again after this time. */
export const RETRY_MS = 5_000;

export function fill({ store }: TestDecisionService): void {
  for (const command of ['decide', 'refuse', 'hold'] as const) store.faults.set(command, 'refuses');
}

export const repair = ({ store }: TestDecisionService): void => store.faults.clear();

/** The restrictions of the engine that are not in its state. */
export function holdOf({ runtime }: TestDecisionService): unknown {
  const { runState, riskMode } = runtime.holds.get(`${CONCERN.id} unwritten`) ?? {};
  return { runState, riskMode };
}
export const NO_HOLD = { runState: undefined, riskMode: undefined };

/** The stored state. */
export function stateOf(trader: TestDecisionService): unknown {
  const { runState, riskMode } = trader.concern() ?? {};
  return { runState, riskMode };
}
