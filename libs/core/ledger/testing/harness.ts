import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog as log, type ManualClock, manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { openLedger } from '../src/ledger.ts';
import type { Ledger, NewTask, TaskEvent } from '../src/types.ts';

export interface TestLedger {
  readonly ledger: Ledger;
  readonly file: string;
  readonly clock: ManualClock;
  /** Closes the ledger and opens the same file again. */
  reopen(): Promise<Ledger>;
}

export function openTestLedger(t: TestContext): TestLedger {
  const dir = tempDir(t, { closeFirst: () => ledger.close() });
  const file = join(dir, 'state', 'ledger.db');
  const clock = manualClock();
  const open = (): Ledger => openLedger({ file, profile: 'neo', clock, ids: systemIds, log });
  let ledger = open();
  return {
    ledger,
    file,
    clock,
    reopen: async () => {
      await ledger.close();
      ledger = open();
      return ledger;
    },
  };
}

let counter = 0;

export function newTask(overrides: Partial<NewTask> = {}): NewTask {
  counter += 1;
  return {
    id: systemIds.uuid(),
    contextId: 'context-1',
    caller: 'switch',
    key: `key-${counter}`,
    fingerprint: 'f1',
    message: { messageId: 'm', parts: [{ text: 'brief' }] },
    dispatch: { type: 'TASK_DISPATCH', brief: 'brief' },
    ...overrides,
  };
}

export async function collect(events: AsyncIterable<TaskEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  return types;
}

/** A signal that no test aborts. */
export const never = new AbortController().signal;
