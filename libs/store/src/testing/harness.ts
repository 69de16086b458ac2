import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Clock, Log } from '@hermes-fleet/protocol';

export const START = Date.UTC(2026, 0, 1);

/** For tests that wait: a wait that never ends fails instead of hanging. */
export const deadline = { timeout: 120_000 };

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
      throw new Error('a store never sleeps');
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
  const dir = mkdtempSync(join(tmpdir(), 'hermes-store-'));
  t.after(async () => {
    await first?.();
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}
