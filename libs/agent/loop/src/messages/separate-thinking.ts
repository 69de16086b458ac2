import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { wrapLanguageModel } from 'ai';
import { THINKING_TAGS } from './lone-thinking.ts';

type Part = LanguageModelV4StreamPart;

/**
 * Turns `<think>…</think>` at the start of an answer into reasoning, also unclosed or in upper case; elsewhere it is text.
 */
export function withSeparateThinking(model: LanguageModelV4): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      async wrapStream({ doStream }) {
        const { stream, ...rest } = await doStream();
        return { ...rest, stream: stream.pipeThrough(separatingStream()) };
      },
    },
  });
}

/** Only the first text of an answer can begin with thinking. Text is passed on once it cannot be a tag any more. */
export function separatingStream(): TransformStream<Part, Part> {
  const { take, end } = separation();
  const passOn = (parts: Iterable<Part>, controller: TransformStreamDefaultController<Part>): void => {
    for (const part of parts) controller.enqueue(part);
  };
  return new TransformStream({
    transform: (part, controller) => passOn(take(part), controller),
    flush: (controller) => passOn(end(), controller),
  });
}

const OPENING = new RegExp(`^<(${THINKING_TAGS.join('|')})>`, 'i');
const mayOpen = (text: string): boolean =>
  THINKING_TAGS.some((tag) => `<${tag}>`.startsWith(text.toLowerCase()));
/** The end of a text, or the place before it where a closing tag may begin. */
const MAY_CLOSE = /(?:<[^<>]{0,10})?$/;

function separation() {
  let id: string | undefined;
  let state: 'undecided' | 'thinking' | 'after thinking' | 'text' = 'undecided';
  let held = '';
  let closing = /$/;
  let open: 'text' | 'reasoning' | undefined;

  function* pass(kind: 'text' | 'reasoning', delta: string): Generator<Part> {
    if (id === undefined || delta === '') return;
    if (open !== kind) {
      yield* close();
      yield { type: `${kind}-start` as const, id };
    }
    open = kind;
    yield { type: `${kind}-delta` as const, id, delta };
  }

  function* close(): Generator<Part> {
    if (id !== undefined && open !== undefined) yield { type: `${open}-end` as const, id };
    open = undefined;
  }

  function* advance(): Generator<Part> {
    if (state === 'undecided') {
      const start = held.trimStart();
      const [opening = '', tag] = OPENING.exec(start) ?? [];
      if (tag === undefined && mayOpen(start)) return;
      state = 'text';
      if (tag !== undefined)
        [state, held, closing] = ['thinking', start.slice(opening.length), new RegExp(`</${tag}>`, 'i')];
    }
    if (state === 'thinking') {
      const closed = closing.exec(held);
      const index = closed?.index ?? held.search(MAY_CLOSE);
      yield* pass('reasoning', held.slice(0, index));
      held = held.slice(index + (closed?.[0].length ?? 0));
      if (closed === null) return;
      state = 'after thinking';
    }
    if (state === 'after thinking') held = held.trimStart();
    if (held === '') return;
    state = 'text';
    yield* pass('text', held);
    held = '';
  }

  /** Passes on what is held back, and closes what is open. */
  function* end(): Generator<Part> {
    yield* pass(state === 'thinking' ? 'reasoning' : 'text', held);
    yield* close();
    held = '';
    if (state === 'thinking') state = 'text';
  }

  return {
    end,
    *take(part: Part): Generator<Part> {
      const isText = part.type === 'text-start' || part.type === 'text-delta' || part.type === 'text-end';
      if (isText) id ??= part.id;
      if (isText && part.id === id) {
        if (part.type === 'text-delta') held += part.delta;
        yield* part.type === 'text-end' ? end() : advance();
        return;
      }
      // A call ends the answer's text: what was held back as a possible tag belongs before it.
      if (isText || part.type.startsWith('tool-') || part.type === 'finish') yield* end();
      yield part;
    },
  };
}
