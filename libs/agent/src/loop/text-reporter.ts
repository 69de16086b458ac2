import type { Clock, RunContext } from '@hermes-fleet/protocol';
import { OUTCOME_FENCE } from './final-message.ts';

/** Text events are gathered for this long: ten a second at most (design 1, Decisions). */
const GATHER_MS = 100;
const FENCE = `\`\`\`${OUTCOME_FENCE}`;

export interface TextReporter {
  push(delta: string): void;
  /** Sends what is left; rejects when an event could not be stored. */
  finish(): Promise<void>;
}

/** Passes a step's text on in few events. The outcome block at its end is for the gateway and stays here. */
export function createTextReporter(report: RunContext['report'], clock: Clock): TextReporter {
  let text = '';
  let sent = 0;
  let timer: Disposable | undefined;
  let sending: Promise<void> = Promise.resolve();

  function flush(whole: boolean): void {
    timer?.[Symbol.dispose]();
    timer = undefined;
    const end = showable(text, whole);
    if (end <= sent) return;
    const part = text.slice(sent, end);
    sent = end;
    sending = sending.then(() => report({ type: 'text', text: part }));
    sending.catch(() => {});
  }

  return {
    push(delta) {
      text += delta;
      timer ??= clock.timer(() => flush(false), GATHER_MS);
    },
    async finish() {
      flush(true);
      await sending;
    },
  };
}

/** Up to where the text may be shown: not into the outcome block, nor into what may become one. */
function showable(text: string, whole: boolean): number {
  const block = text.startsWith(FENCE) ? 0 : text.indexOf(`\n${FENCE}`);
  if (block !== -1) return block;
  const line = text.lastIndexOf('\n');
  return !whole && FENCE.startsWith(text.slice(line + 1)) ? Math.max(0, line) : text.length;
}
