import type { TaskDispatch, Unmet } from '@hermes-fleet/protocol/handshake';
import type { Caller, ModelInfo, ModelWatch, RepoState } from '@hermes-fleet/protocol/ports';

/** The state of this profile. The functions measure, and are called only if a dispatch needs them. */
export interface AdmissionInputs {
  readonly self: string;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  readonly now: number;
  readonly model: ModelInfo;
  readonly tiers: readonly string[];
  readonly capabilities: readonly string[];
  readonly mcp: {
    names(): string[];
    probe(
      name: string,
      options: { maxAgeMs: number; timeoutMs: number },
    ): Promise<{ readonly state: string; readonly detail: string }>;
  };
  /** The measured health of the model; undefined without one. */
  readonly modelWatch: Pick<ModelWatch, 'health' | 'probe'> | undefined;
  repoState(): Promise<RepoState>;
  countTokens(text: string): Promise<number>;
  /** The smallest token budget with which the executor starts, without the brief; 0 if it spends nothing. */
  readonly minimumBudget: number;
  readonly queue: { readonly full: boolean; readonly waiting: number };
  /** Names the resource that the machine is short of for a new task; undefined when there is none. */
  shortage(): Unmet | undefined;
  /** The ceilings on spending that the task would exceed (docs/configuration.md#spending). */
  ceilings(dispatch: TaskDispatch, caller: Caller): Unmet[];
}

export interface AdmissionRequest {
  readonly dispatch: TaskDispatch;
  readonly caller: Caller;
  readonly inputs: AdmissionInputs;
}

/** Returns the unmet requirements; a promise only if it measures. */
export type Check = (request: AdmissionRequest) => readonly Unmet[] | Promise<readonly Unmet[]>;
