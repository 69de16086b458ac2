import type { Concern } from '@hermes-fleet/market';
import type {
  ControlDecision,
  ControlResponse,
  ControlValidation,
  ControlWarning,
} from '@hermes-fleet/protocol/control';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A reason for refusing a decision. */
export type Failure = ControlResponse['errors'][number];

const UNCHECKED: ControlValidation = {
  schemaValid: null,
  concernMatch: null,
  accountMatch: null,
  marketMatch: null,
  targetExists: null,
  targetRunnable: null,
  requestFresh: null,
  confidenceAccepted: null,
  expectedActiveMatch: null,
  executionSafe: null,
};

interface Ending extends Pick<ControlResponse, 'status' | 'result'> {
  readonly before: Concern | undefined;
  readonly after: Concern | undefined;
  readonly errors?: readonly Failure[];
  /** Ms since the epoch. */
  readonly appliedAt?: number | undefined;
}

/** The identifying fields of a payload, as far as they can be read. */
export interface PayloadSummary {
  readonly decisionId: string | null;
  readonly concernId: string | null;
  readonly action: string | null;
  readonly dryRun: boolean;
}

export const summaryOf = ({ decisionId, concernId, action, dryRun }: ControlDecision): PayloadSummary => ({
  decisionId,
  concernId,
  action,
  dryRun,
});

export type Draft = ReturnType<typeof createDraft>;

/** Collects the checks and warnings of a response. */
export function createDraft(summary: PayloadSummary) {
  const validation: Mutable<ControlValidation> = { ...UNCHECKED };
  const warnings: ControlResponse['warnings'] = [];
  return {
    validation,
    warn: (code: ControlWarning, message: string): void => void warnings.push({ code, message }),
    /** Builds the response from the concern before and after the decision. */
    answer: ({ status, result, before, after, errors = [], appliedAt }: Ending): ControlResponse => ({
      ok: status === 'applied' || status === 'noop',
      status,
      decisionId: summary.decisionId,
      concernId: summary.concernId,
      action: summary.action,
      fromStrategyId: before?.activeStrategyId ?? null,
      toStrategyId: after?.activeStrategyId ?? null,
      riskMode: after?.riskMode ?? null,
      dryRun: summary.dryRun,
      validation: { ...validation },
      warnings: [...warnings],
      errors: [...errors],
      result,
      appliedAt: appliedAt === undefined ? null : new Date(appliedAt).toISOString(),
    }),
  };
}
