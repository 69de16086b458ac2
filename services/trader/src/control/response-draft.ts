import type { Concern } from '@hermes-fleet/paper';
import type {
  ControlCode,
  ControlDecision,
  ControlResponse,
  ControlValidation,
  ControlWarning,
} from '@hermes-fleet/protocol';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** One reason why a decision is refused. */
export interface Failure {
  readonly code: ControlCode;
  readonly message: string;
  readonly field?: string;
}

/** An answer in the making: what was checked so far, and what is to be known of it. */
export interface Draft {
  readonly validation: Mutable<ControlValidation>;
  warn(code: ControlWarning, message: string): void;
  /** The answer, of the concern as it was before and as it is now. */
  answer(
    o: Pick<ControlResponse, 'status' | 'result'> & {
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

/** What a payload says of itself, as far as it can be read. */
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

export function createDraft(said: PayloadSummary): Draft {
  const validation = { ...UNCHECKED };
  const warnings: ControlResponse['warnings'] = [];
  return {
    validation,
    warn: (code, message) => void warnings.push({ code, message }),
    answer: ({ status, result, before, after, errors = [], appliedAt }) => ({
      ok: status === 'applied' || status === 'noop',
      status,
      decisionId: said.decisionId,
      concernId: said.concernId,
      action: said.action,
      fromStrategyId: before?.activeStrategyId ?? null,
      toStrategyId: after?.activeStrategyId ?? null,
      riskMode: after?.riskMode ?? null,
      dryRun: said.dryRun,
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
