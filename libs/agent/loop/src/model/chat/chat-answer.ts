import { setTimeout as sleep } from 'node:timers/promises';
import { isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { loggable } from '../../messages/redact.ts';
import { withoutSecrets } from '../../messages/secrets.ts';
import { createFrames } from './chat-frames.ts';
import { type ReportedError, reportedError } from './reported-error.ts';

/** `secrets`: what the log must not quote. */
type Told = { readonly log: Log; readonly secrets: readonly string[] };

/** A whole answer that is not streamed, or one frame of a stream. */
const MAX_CHARS = 8 * 1024 * 1024;
const DONE = '[DONE]';
/** An answer is whole without `[DONE]` when nothing follows its finish reason for so long. */
const GRACE_MS = 5_000;

/**
 * `fetch` whose answers are streams as the chat completions API documents them: frames are repaired (`createFrames`), those
 * that say nothing are left out and logged once an answer, and nothing is read after `[DONE]`. An answer that is not
 * streamed becomes a stream. An error that begins an answer of 200 becomes an answer of its own status. Nothing that comes
 * after the end makes an answer fail (`isOver`).
 */
export function chatAnswerFetch(next: typeof fetch, told: Told): typeof fetch {
  return async (input, init) => {
    const response = await next(input, init);
    if (!response.ok || response.body === null) return response;
    const reader = response.body.getReader();
    const items = itemsOf(reader);
    const first = items.next();
    // An answer that cannot be read fails when its stream is read.
    const error = await first.then(
      ({ value }) => value?.error,
      () => undefined,
    );
    const headers = Object.fromEntries(response.headers);
    if (error?.status !== undefined && error.body.metered === undefined) {
      await reader.cancel();
      const json = { ...headers, 'content-type': 'application/json' };
      return new Response(JSON.stringify(error.body), { status: error.status, headers: json });
    }
    const frames = repaired(first, items, told);
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const { done, value } = await frames.next();
        if (!done) return controller.enqueue(new TextEncoder().encode(`data: ${value}\n\n`));
        controller.close();
        await reader.cancel();
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(stream, { headers: { ...headers, 'content-type': 'text/event-stream' } });
  };
}

/** A piece of an answer: a frame, an error, words that are neither, or the end. */
interface Item {
  readonly frame?: JsonObject;
  readonly error?: ReportedError;
  readonly words?: string;
  readonly isEnd?: boolean;
}

/** Reads an answer up to its end. */
async function* itemsOf(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Item, undefined> {
  const decoder = new TextDecoder();
  const events: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onError({ type, field, value = '', line = '', message }) {
      if (type === 'max-buffer-size-exceeded') throw new Error(message);
      // llama.cpp's errors, and JSON that stands in no field.
      if (field === 'error') events.push({ id: undefined, event: field, data: value });
      else if (/^[[{]/.test(line)) events.push({ id: undefined, event: undefined, data: line });
    },
    maxBufferSize: MAX_CHARS,
  });
  let text = '';
  let isStreamed: boolean | undefined;
  for (let isOver = false; !isOver; ) {
    const { done, value } = await reader.read();
    isOver = done;
    // The last frame may lack its end.
    text += done ? '\n\n' : decoder.decode(value, { stream: true });
    if (text.length > MAX_CHARS) throw new Error('an answer that is not streamed has more than 8 MiB');
    if (text.trim() !== '') isStreamed ??= !/^\s*[[{]/.test(text);
    if (!isStreamed) continue;
    parser.feed(text);
    text = '';
    // Frames without an empty line between them are one event.
    for (const { data, event } of events.splice(0))
      for (const each of parseJson(data) === undefined ? data.split('\n') : [data]) {
        if (each.trim() === DONE) yield { isEnd: true };
        else yield* itemsIn(each, event);
      }
  }
  const isAnswer = /"choices"/.test(text);
  const parts = parseJson(text) === undefined ? text.split('\n') : [text];
  for (const part of parts.filter((each) => each.trim() !== '' && !each.includes(DONE)))
    yield* itemsIn(part, isAnswer ? undefined : 'error');
  if (isAnswer) yield { isEnd: true };
}

/** The items of a JSON text. A damaged one is an error: without it the answer would not be whole. */
function* itemsIn(text: string, event?: string): Generator<Item> {
  const value = parseJson(text);
  if (value === undefined && /^\s*[[{]/.test(text)) return yield { error: damaged(text) };
  for (const frame of [value].flat()) {
    const shown = isJsonObject(frame) ? frame : event === 'error' && { message: text };
    const error = shown ? reportedError(shown, event) : undefined;
    if (error !== undefined) yield { error };
    else yield isJsonObject(frame) ? { frame } : { words: text };
  }
}

const damaged = (text: string): ReportedError => ({
  status: undefined,
  body: { error: { message: `a frame is no JSON: ${text.slice(0, 200)}` } },
});

async function* repaired(
  first: Promise<IteratorResult<Item, undefined>>,
  items: AsyncGenerator<Item, undefined>,
  { log, secrets }: Told,
): AsyncGenerator<string> {
  const frames = createFrames();
  let skipped = 0;
  let example = '';
  try {
    for (let next = first; ; next = items.next()) {
      const item = await (frames.isOver() ? lastItem(next) : next.then(({ value }) => value));
      const isWhole = frames.isOver() || (item?.isEnd ?? (item === undefined && frames.isMetered()));
      if (item === undefined || item.isEnd || (item.error && isWhole)) {
        const closing = isWhole ? frames.closing() : undefined;
        if (closing !== undefined) yield JSON.stringify(closing);
        if (isWhole) yield DONE;
        return;
      }
      const { frame, error, words } = item;
      const out: object[] = error ? [error.body] : frame ? frames.repaired(frame) : [];
      for (const each of out) yield JSON.stringify(each);
      if (error !== undefined) return;
      if (out.length > 0) continue;
      skipped += 1;
      example ||= (words ?? JSON.stringify(frame)).slice(0, 1_000);
    }
  } finally {
    const fields = { frames: skipped, first: loggable(withoutSecrets(example, secrets)) };
    if (skipped > 0) log.info(fields, 'frames of an answer say nothing that is known; they are left out');
  }
}

/** Resolves with the next item, or with undefined when none comes soon or it cannot be read. */
const lastItem = (next: Promise<IteratorResult<Item, undefined>>): Promise<Item | undefined> =>
  Promise.race([next, sleep(GRACE_MS, undefined, { ref: false })]).then(
    (result) => result?.value,
    () => undefined,
  );
