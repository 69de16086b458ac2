import type { JsonObject } from '@hermes-fleet/protocol';
import type { RiskMode } from '@hermes-fleet/protocol/control';

/** The control state of one account in one market (docs/trader.md#state). The audit records its changes. */
export interface Concern {
  /** `<account>:<market>` */
  readonly id: string;
  readonly accountId: string;
  readonly marketSymbol: string;
  readonly activeStrategyId: string | null;
  readonly runState: 'running' | 'paused';
  readonly riskMode: RiskMode;
  /** Incremented by each change. */
  readonly rev: number;
}

export interface Strategy {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly accountId: string;
  readonly marketSymbol: string;
  readonly params: JsonObject;
  /** Says if the strategy may run. The concern says which strategy is active. */
  readonly status: 'enabled' | 'disabled' | 'faulted';
}
