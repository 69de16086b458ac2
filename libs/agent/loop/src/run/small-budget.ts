/**
 * A token budget below this is small: the prompt has its short form, and only the tools that the task cannot do without are
 * offered, with short definitions (docs/agent.md#prompt). In tokens.
 */
const SMALL_BELOW = 8000;

export const isSmall = (budgetLimit: number | undefined): boolean =>
  budgetLimit !== undefined && budgetLimit < SMALL_BELOW;
