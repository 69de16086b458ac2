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

/**
 * `fetch` whose answers are streams as the chat completions API documents them: frames are repaired (`createFrames`), those
 * that say nothing are left out and logged once an answer, and nothing is read after `[DONE]`. An answer that is not
 * streamed becomes a stream. An error that begins an answer of 200 becomes an answer of its own status.
 */
export function chatAnswerFetch(next: typeof fetch, told: Told): typeof fetch {
  return async (input, init) => {
    const response = await next(input, init);
    if (!response.ok || response.body === null) return response;
    const items = itemsOf(response.body);
    const first = items.next();
    // Where it cannot be read, reading the stream fails.
    const error = await first.then(
      ({ value }) => value?.error,
      () => undefined,
    );
    if (error?.status !== undefined && error.body.metered === undefined) {
      await items.return(undefined);
      const headers = { ...Object.fromEntries(response.headers), 'content-type': 'application/json' };
      return new Response(JSON.stringify(error.body), { status: error.status, headers });
    }
    const frames = repaired(first, items, told);
    return new Response(ReadableStream.from(frames), {
      headers: { ...Object.fromEntries(response.headers), 'content-type': 'text/event-stream' },
    });
  };
}

/** What an answer is made of: frames, an error, text that is neither, and its end. */
interface Item {
  readonly frame?: JsonObject;
  readonly error?: ReportedError;
  readonly unknown?: string;
  readonly isEnd?: boolean;
}

/** Reads an answer up to its end, and closes its connection. */
async function* itemsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Item, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const events: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw error;
    },
    maxBufferSize: MAX_CHARS,
  });
  let text = '';
  let isStreamed: boolean | undefined;
  try {
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
      // Frames between which there is no empty line are one event.
      for (const { data, event } of events.splice(0))
        for (const each of parseJson(data) === undefined ? data.split('\n') : [data]) {
          const isEnd = each.trim() === DONE;
          yield isEnd ? { isEnd } : itemOf(each, event);
          if (isEnd) return;
        }
    }
  } finally {
    await reader.cancel();
  }
  if (text.trim() === '') return;
  const isAnswer = isJsonObject(parseJson(text)) && /"choices"/.test(text);
  yield itemOf(text, isAnswer ? undefined : 'error');
  if (isAnswer) yield { isEnd: true };
}

function itemOf(text: string, event?: string): Item {
  const value = [parseJson(text)].flat()[0];
  if (!isJsonObject(value)) return { unknown: text };
  const error = reportedError(value, event);
  return error === undefined ? { frame: value } : { error };
}

const encoder = new TextEncoder();
const encoded = (data: string): Uint8Array => encoder.encode(`data: ${data}\n\n`);

async function* repaired(
  first: Promise<IteratorResult<Item, undefined>>,
  items: AsyncGenerator<Item, undefined>,
  { log, secrets }: Told,
): AsyncGenerator<Uint8Array> {
  const frames = createFrames();
  const unknown: string[] = [];
  async function* all() {
    const { done, value } = await first;
    if (!done) yield value;
    yield* items;
  }
  try {
    for await (const { frame, error, unknown: text, isEnd } of all()) {
      const out = isEnd ? frames.closing() : (error?.body ?? (frame && frames.repaired(frame)));
      if (out !== undefined) yield encoded(JSON.stringify(out));
      else if (!isEnd) unknown.push(text ?? JSON.stringify(frame));
      if (isEnd) yield encoded(DONE);
      if (isEnd || error !== undefined) return;
    }
  } finally {
    if (unknown.length > 0)
      log.info(
        { frames: unknown.length, first: loggable(withoutSecrets(unknown[0] ?? '', secrets)) },
        'frames of an answer say nothing that is known; they are left out',
      );
  }
}
