import assert from 'node:assert/strict';
import type { TokenEntry, TokenStore } from '../src/ports/ledger.ts';
import { createBudget } from '../src/tokens/index.ts';

/** An in-memory token store; its entries survive the budgets that use it. */
function memoryStore() {
  const rows = new Map<string, { taskId: string; entry: TokenEntry }>();
  const faults: Error[] = [];
  const write = async (change: () => void): Promise<void> => {
    await Promise.resolve();
    const fault = faults.shift();
    if (fault) throw fault;
    change();
  };
  const put = (taskId: string, entry: TokenEntry): string => {
    const id = `r${rows.size}`;
    rows.set(id, { taskId, entry });
    return id;
  };
  const store: TokenStore = {
    entries: (taskId) =>
      [...rows.values()].filter((row) => row.taskId === taskId).map((row) => ({ ...row.entry })),
    reserve: async (taskId, estimate) => {
      let id = '';
      await write(() => {
        id = put(taskId, estimate);
      });
      return id;
    },
    settle: (id, actual) =>
      write(() => {
        const row = rows.get(id);
        assert.ok(row, `reservation ${id} exists`);
        rows.set(id, { ...row, entry: actual });
      }),
    add: (taskId, entry) =>
      write(() => {
        put(taskId, entry);
      }),
  };
  return { store, failNext: (error: Error) => faults.push(error) };
}

type Extra = Partial<Parameters<typeof createBudget>[0]>;
/** A budget of task t1 with its own store; `reopen` creates the budget that a start after a crash creates. */
export function budgetOf(limit: number | undefined, extra: Extra = {}) {
  const { store, failNext } = memoryStore();
  const options = { taskId: 't1', limit, store, model: 'offline/runbook', ...extra };
  return { budget: createBudget(options), reopen: () => createBudget(options), store, failNext };
}

export const metered = (inputTokens: number, outputTokens: number) =>
  ({ inputTokens, outputTokens, source: 'metered' }) as const;
