import { type Unmet, unmet } from '@hermes-fleet/protocol/handshake';

/** The tokens of a UTC calendar day that count under a ceiling, whether or not it is set. */
export interface DayFigures {
  /** Tokens; undefined without a ceiling. */
  readonly limit: number | undefined;
  readonly spent: number;
  /** Tokens that unfinished tasks may still spend of their budgets. */
  readonly reserved: number;
}

export interface DayCeiling extends DayFigures {
  /** The key below `fleet.spending`. */
  readonly key: string;
}

/** The tokens left below a ceiling; undefined without one. */
export function leftOf({ limit, spent, reserved }: DayFigures): number | undefined {
  return limit === undefined ? undefined : Math.max(0, limit - spent - reserved);
}

/** The ceiling of one day that a task with this budget would exceed. `frees` says when the day ends. */
export function dayUnmet(
  profile: string,
  { key, ...figures }: DayCeiling,
  budget: number | undefined,
  frees: string,
): Unmet[] {
  const { limit, spent, reserved } = figures;
  const left = leftOf(figures);
  if (limit === undefined || left === undefined || (budget !== undefined && budget <= left)) return [];
  const ceiling = `fleet.spending.${key} of ${profile} allows ${limit} tokens a day`;
  if (budget === undefined)
    return unmet('budget', key, `${ceiling}, and the task has no budget to compare: set token_budget`, false);
  const state = `${left} are left (${spent} spent, ${reserved} reserved by unfinished tasks), and the task may spend ${budget}`;
  return unmet(
    'budget',
    key,
    `${ceiling}: ${state}; ${whenFree(budget, { limit, spent }, frees)}`,
    spent + budget <= limit,
  );
}

/** The ceiling of a task and all that it delegates. */
export function treeUnmet(profile: string, limit: number | undefined, budget: number | undefined): Unmet[] {
  if (limit === undefined || budget === undefined || budget <= limit) return [];
  const key = 'tokens_per_task_tree';
  const detail = `fleet.spending.${key} of ${profile} allows ${limit} tokens for a task and all that it delegates, and the task may spend ${budget}; it never frees: set token_budget to at most ${limit}`;
  return unmet('budget', key, detail, false);
}

function whenFree(
  budget: number,
  { limit, spent }: { readonly limit: number; readonly spent: number },
  frees: string,
): string {
  if (budget > limit) return `no day has as many: set token_budget to at most ${limit}`;
  if (spent + budget > limit) return `it frees ${frees}`;
  return `it frees as unfinished tasks end with tokens left, or ${frees}`;
}
