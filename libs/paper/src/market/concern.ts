import type { JsonObject, RiskMode } from '@hermes-fleet/protocol';

/** The control state of one account in one market (design 4, State): what audit and replay are about. */
export interface Concern {
  /** `<account>:<market>` */
  readonly id: string;
  readonly accountId: string;
  readonly marketSymbol: string;
  readonly activeStrategyId: string | null;
  readonly runState: 'running' | 'paused';
  readonly riskMode: RiskMode;
  /** Counts its changes. */
  readonly rev: number;
}

export interface Strategy {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly accountId: string;
  readonly marketSymbol: string;
  readonly params: JsonObject;
  /** Whether it may run; which one does is the concern's to say. */
  readonly status: 'enabled' | 'disabled' | 'faulted';
}
