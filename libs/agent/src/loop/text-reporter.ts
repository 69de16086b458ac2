import type { Clock, RunContext } from '@hermes-fleet/protocol';
import { outcomeBlock } from '../messages/final-message.ts';

/** Text events are gathered for this long: ten a second at most (design 1, Decisions). */
const GATHER_MS = 100;
/** What may become the outcome block, also on a line that has only begun. */
const MAY_BE = /^ {0,3}(?:`{3,}|~{3,})[ \t]*outcome/m;
const BEGUN = /^ {0,3}(?:[`~]|$)/;

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
    // At once, whatever is still under way: what is reported after it comes after it.
    sending = Promise.all([sending, report({ type: 'text', text: part })]).then(() => {});
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
  if (whole) return beforeLine(text, outcomeBlock(text)?.start ?? -1);
  const block = text.search(MAY_BE);
  if (block !== -1) return beforeLine(text, block);
  const line = text.lastIndexOf('\n') + 1;
  return beforeLine(text, BEGUN.test(text.slice(line)) ? line : -1);
}

/** The end of what stands before a line; of the whole text without one. */
const beforeLine = (text: string, start: number): number =>
  start === -1 ? text.length : text.slice(0, start).replace(/\r?\n$/, '').length;
