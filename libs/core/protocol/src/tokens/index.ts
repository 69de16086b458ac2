export { createBudget, type TaskBudget } from './budget.ts';
export { countTokens } from './count.ts';
export { delegatedEntry, noUsage, usageOf } from './entry.ts';
