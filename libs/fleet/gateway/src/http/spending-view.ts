import type { Answer, Spending } from '@hermes-fleet/protocol/api';
import { leftOf, type SpendingView } from '@hermes-fleet/tasks';

/** The ceilings on spending and what is left below them, in tokens; null without a ceiling. */
export function spendingView({
  day,
  endsAt,
  taskTree,
  profile,
  callers,
}: SpendingView): Omit<Answer<typeof Spending>, 'profile'> {
  return {
    day,
    frees_at: endsAt,
    tokens_per_task_tree: taskTree ?? null,
    own: figuresView(profile),
    callers: Object.fromEntries([...callers].map(([name, figures]) => [name, figuresView(figures)])),
  };
}

function figuresView(figures: SpendingView['profile']) {
  const { limit, spent, reserved } = figures;
  return { tokens_per_day: limit ?? null, spent, reserved, left: leftOf(figures) ?? null };
}
