import type { Clock } from '@hermes-fleet/protocol/ports';

const MAX_LINE = 2_000;
const MAX_LINES = 50;
const WINDOW_MS = 10_000;

/**
 * A rate-limited log for the output of another process: lines are cut at 2,000 characters, and lines beyond 50 in 10
 * seconds are only counted. Holds at most one line.
 */
export function createLineLog(
  clock: Clock,
  write: (line: string) => void,
): { push(chunk: string): void; end(): void } {
  let partial = '';
  let windowStart = clock.now();
  let written = 0;
  let dropped = 0;

  function line(text: string): void {
    if (clock.now() - windowStart >= WINDOW_MS) {
      if (dropped > 0) write(`(${dropped} lines left out)`);
      windowStart = clock.now();
      written = 0;
      dropped = 0;
    }
    if (written >= MAX_LINES) {
      dropped += 1;
      return;
    }
    written += 1;
    write(text.slice(0, MAX_LINE));
  }

  return {
    push(chunk) {
      const lines = chunk.split('\n');
      lines[0] = partial + (lines[0] ?? '');
      partial = (lines.pop() ?? '').slice(0, MAX_LINE);
      for (const text of lines) if (text.trim()) line(text.trimEnd());
    },
    end() {
      if (partial.trim()) line(partial);
      if (dropped > 0) write(`(${dropped} lines left out)`);
      partial = '';
      dropped = 0;
    },
  };
}
