import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import { encodeDispatch } from '@hermes-fleet/protocol/handshake';
import {
  type AdmittedTask,
  type Budget,
  type RunContext,
  type RunEvent,
  systemClock,
  systemIds,
} from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { createBudget } from '@hermes-fleet/protocol/tokens';

/** A ledger in a separate file, for runs without a gateway. */
export const openTestLedger = (file: string): Ledger =>
  openLedger({ file, profile: 'test', clock: systemClock, ids: systemIds, log: silentLog });

/** Puts a task into a ledger, as one that has just been started. */
export async function startTask(ledger: Ledger, task: AdmittedTask): Promise<void> {
  const { id, contextId, caller, dispatch } = task;
  await ledger.accept({
    id,
    contextId,
    caller: caller.name,
    key: id,
    fingerprint: id,
    message: { messageId: id },
    dispatch: encodeDispatch(dispatch),
  });
  await ledger.append(id, { type: 'started', data: {} }, { state: 'working' });
}

export interface LedgerRun {
  readonly context: RunContext;
  readonly budget: Budget;
  readonly events: readonly RunEvent[];
  /** Calls of the model so far. */
  calls(): number;
}

/** The context of a run. Everything that it spends, reports or saves goes into the ledger, as in a gateway. */
export function ledgerRun(
  ledger: Ledger,
  task: AdmittedTask,
  o: {
    model: string;
    limit: number | undefined;
    signal: AbortSignal;
    ask(question: string): Promise<string>;
  },
): LedgerRun {
  const { id } = task;
  const events: RunEvent[] = [];
  const budget = createBudget({ taskId: id, limit: o.limit, store: ledger.tokens, model: o.model });
  const context: RunContext = {
    signal: o.signal,
    stopping: new AbortController().signal,
    budget,
    async reportEvent(event) {
      events.push(event);
      const data = event.type === 'text' ? { text: event.text } : event.data;
      await ledger.append(id, { type: event.type, data });
    },
    park: (wait) => wait(),
    ask: o.ask,
    earlier: () => ledger.earlierConversation(id),
    checkpoint: {
      load: () => ledger.loadCheckpoint(id),
      save: (state, growing) => ledger.saveCheckpoint(id, state, growing),
    },
  };
  const calls = (): number => ledger.tokens.entries(id).filter(({ kind }) => kind === 'own').length;
  return { context, budget, events, calls };
}
