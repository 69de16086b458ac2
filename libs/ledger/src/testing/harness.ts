import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Clock, type Log, systemIds } from '@hermes-fleet/protocol';
import { openLedger } from '../ledger.ts';
import type { Ledger, NewTask, TaskEvent } from '../types.ts';

export const START = Date.UTC(2026, 0, 1);

/** For tests that wait: a wait that never ends fails instead of hanging. */
export const deadline = { timeout: 60_000 };

/** A clock that stands still until a test moves it. */
export interface TestClock extends Clock {
  advance(ms: number): void;
  /** Timers that are set and not disposed. */
  readonly timers: number;
}

export function createTestClock(): TestClock {
  let now = START;
  const timers = new Set<{ at: number; fn: () => void }>();
  return {
    now: () => now,
    sleep: async () => {
      throw new Error('the ledger never sleeps');
    },
    timer: (fn, ms) => {
      const timer = { at: now + ms, fn };
      timers.add(timer);
      return { [Symbol.dispose]: () => timers.delete(timer) };
    },
    advance: (ms) => {
      now += ms;
      for (const timer of [...timers]) {
        if (timer.at <= now && timers.delete(timer)) timer.fn();
      }
    },
    get timers() {
      return timers.size;
    },
  };
}

/** A log that keeps its messages by level. */
export function createTestLog(): Log & { readonly messages: string[] } {
  const messages: string[] = [];
  const at = (level: string) => (_fields: object, message: string) => {
    messages.push(`${level}: ${message}`);
  };
  return { messages, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A directory that is removed after the test, when `first` is done. */
export function tempDir(t: TestContext, first?: () => Promise<void>): string {
  const dir = mkdtempSync(join(tmpdir(), 'hermes-ledger-'));
  t.after(async () => {
    await first?.();
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

export interface TestLedger {
  readonly ledger: Ledger;
  readonly file: string;
  readonly clock: TestClock;
  /** Closes the ledger and opens the same file again. */
  reopen(): Promise<Ledger>;
}

export function openTestLedger(t: TestContext): TestLedger {
  const dir = tempDir(t, () => ledger.close());
  const file = join(dir, 'state', 'ledger.db');
  const clock = createTestClock();
  const open = (): Ledger =>
    openLedger({ file, profile: 'neo', clock, ids: systemIds, log: createTestLog() });
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

export function newTask(o: Partial<NewTask> = {}): NewTask {
  counter += 1;
  return {
    id: systemIds.uuid(),
    contextId: 'context-1',
    caller: 'switch',
    key: `key-${counter}`,
    fingerprint: 'f1',
    message: { messageId: 'm', parts: [{ text: 'brief' }] },
    dispatch: { type: 'TASK_DISPATCH', brief: 'brief' },
    ...o,
  };
}

export async function collect(events: AsyncIterable<TaskEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  return types;
}

/** A signal that no test aborts. */
export const never = new AbortController().signal;
