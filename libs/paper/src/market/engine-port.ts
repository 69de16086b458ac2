import type { JsonObject } from '@hermes-fleet/protocol';
import type { Concern } from './concern.ts';
import type { EngineView, Reconciled } from './runtime-port.ts';
import type { Bar, TradingStrategy } from './strategy.ts';

/** What an engine is to do. */
export interface Desired extends Pick<Concern, 'runState' | 'riskMode'> {
  /** Undefined: nothing is active, and what is held is held. */
  readonly strategy: { readonly id: string; readonly trading: TradingStrategy } | undefined;
}

/** The paper account and the orders of one concern: synchronous, deterministic, and only moved by bars and `configure`. */
export interface Engine {
  /** At once, and idempotent: a pause cancels entries, halted cancels all, a switch cancels what the former strategy had open. */
  configure(desired: Desired): Reconciled;
  /** Fills what the bar fills, then asks the strategy. Never throws: an error of the strategy is counted and returned. */
  onBar(bar: Bar): { readonly error?: Error };
  /** Without the verdict on its execution, which is the runtime's. */
  view(): Omit<EngineView, 'execution'> & {
    readonly execution: Omit<EngineView['execution'], 'state' | 'reasons'>;
  };
  /** Of the last bars: orders rejected, and errors in a row. */
  trouble(): { readonly recentRejects: number; readonly consecutiveErrors: number };
  lastBar(): Bar | undefined;
  /** Everything, as JSON; `createEngine` takes it again. */
  snapshot(): JsonObject;
}
