import type { Concern } from '@hermes-fleet/market';
import type {
  ControlCode,
  ControlDecision,
  ControlResponse,
  ControlValidation,
  ControlWarning,
} from '@hermes-fleet/protocol/control';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A reason for refusing a decision. */
export interface Failure {
  readonly code: ControlCode;
  readonly message: string;
  readonly field?: string;
}

/** Collects the checks and warnings of a response. */
export interface Draft {
  readonly validation: Mutable<ControlValidation>;
  warn(code: ControlWarning, message: string): void;
  /** Builds the response from the concern before and after the decision. */
  answer(
    options: Pick<ControlResponse, 'status' | 'result'> & {
      readonly before: Concern | undefined;
      readonly after: Concern | undefined;
      readonly errors?: readonly Failure[];
      readonly appliedAt?: number;
    },
  ): ControlResponse;
}

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

export function createDraft(summary: PayloadSummary): Draft {
  const validation = { ...UNCHECKED };
  const warnings: ControlResponse['warnings'] = [];
  return {
    validation,
    warn: (code, message) => void warnings.push({ code, message }),
    answer: ({ status, result, before, after, errors = [], appliedAt }) => ({
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
      errors: errors.map(({ code, message, field }) => ({
        code,
        message,
        ...(field !== undefined && { field }),
      })),
      result,
      appliedAt: appliedAt === undefined ? null : new Date(appliedAt).toISOString(),
    }),
  };
}
