import type { Clock, RunContext } from '@hermes-fleet/protocol/ports';
import { outcomeBlock } from '../messages/final-message.ts';

/** Limits text events to ten per second. */
const BATCH_MS = 100;
/** The start of an outcome block, or of a line that may become one. */
const OUTCOME_START = /^ {0,3}(?:`{3,}|~{3,})[ \t]*outcome/m;
const PARTIAL_FENCE = /^ {0,3}(?:[`~]|$)/;

export type TextReporter = ReturnType<typeof createTextReporter>;

/** Reports a step's text in few events. Withholds the outcome block at its end, which is for the gateway. */
export function createTextReporter(report: RunContext['reportEvent'], clock: Clock) {
  let text = '';
  let sent = 0;
  let timer: Disposable | undefined;
  let sending: Promise<void> = Promise.resolve();

  function flush(whole: boolean): void {
    timer?.[Symbol.dispose]();
    timer = undefined;
    const end = endOfShown(text, whole);
    if (end <= sent) return;
    const part = text.slice(sent, end);
    sent = end;
    // Reported without waiting for earlier reports, so that later events keep their order.
    sending = Promise.all([sending, report({ type: 'text', text: part })]).then(() => {});
    sending.catch(() => {});
  }

  return {
    push(delta: string): void {
      text += delta;
      timer ??= clock.timer(() => flush(false), BATCH_MS);
    },
    /** Sends the rest; rejects when an event could not be stored. */
    async finish(): Promise<void> {
      flush(true);
      await sending;
    },
  };
}

/** The offset up to which the text may be shown: before the outcome block, or before what may become one. */
function endOfShown(text: string, whole: boolean): number {
  if (whole) return beforeLine(text, outcomeBlock(text)?.start ?? -1);
  const block = text.search(OUTCOME_START);
  if (block !== -1) return beforeLine(text, block);
  const line = text.lastIndexOf('\n') + 1;
  return beforeLine(text, PARTIAL_FENCE.test(text.slice(line)) ? line : -1);
}

const beforeLine = (text: string, start: number): number =>
  start === -1 ? text.length : text.slice(0, start).replace(/\r?\n$/, '').length;
