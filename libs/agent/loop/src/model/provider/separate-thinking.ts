import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { wrapLanguageModel } from 'ai';

/** Tags in which open models write what they think, where their server does not separate it. */
const TAGS = ['think', 'thinking'] as const;
const OPENING = TAGS.map((tag) => `<${tag}>`);

type TextPart = Extract<LanguageModelV4StreamPart, { type: 'text-start' | 'text-delta' | 'text-end' }>;

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

/** Only the first text of an answer can begin with thinking. */
export function separatingStream(): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
  let splitter: Splitter | undefined;
  return new TransformStream({
    transform(part, controller) {
      if (!isText(part)) {
        // A call ends the answer's text: what was held back as a possible tag belongs before it.
        if (part.type.startsWith('tool-') || part.type === 'finish') splitter?.release(controller);
        controller.enqueue(part);
        return;
      }
      splitter ??= new Splitter(part.id);
      splitter.takePart(part, controller);
    },
    flush: (controller) => splitter?.release(controller),
  });
}

type Controller = TransformStreamDefaultController<LanguageModelV4StreamPart>;

/** The text of one answer: undecided at first, then perhaps thinking, then text. */
class Splitter {
  readonly #id: string;
  #state: 'undecided' | 'thinking' | 'text' = 'undecided';
  /** Text that is not passed on yet: it may be a tag, or the space before one. */
  #held = '';
  #closing = '';
  /** The text after thinking begins without the empty lines that separate them. */
  #isTrimming = false;
  #isTextOpen = false;

  constructor(id: string) {
    this.#id = id;
  }

  takePart(part: TextPart, controller: Controller): void {
    if (part.id !== this.#id) {
      this.release(controller);
      controller.enqueue(part);
      return;
    }
    if (part.type === 'text-delta') {
      this.#held += part.delta;
      this.#advance(controller);
    } else if (part.type === 'text-end') this.release(controller);
  }

  /** Passes on what is left, and closes what is open. */
  release(controller: Controller): void {
    const id = this.#id;
    if (this.#state === 'thinking') {
      this.#think(this.#held, controller);
      controller.enqueue({ type: 'reasoning-end', id: `thinking-${id}` });
      this.#state = 'text';
    } else this.#say(this.#held, controller);
    this.#held = '';
    if (this.#isTextOpen) controller.enqueue({ type: 'text-end', id });
    this.#isTextOpen = false;
  }

  #advance(controller: Controller): void {
    if (this.#state === 'undecided') this.#decide(controller);
    if (this.#state === 'thinking') this.#endThinking(controller);
    if (this.#state !== 'text') return;
    this.#say(this.#held, controller);
    this.#held = '';
  }

  #decide(controller: Controller): void {
    const start = this.#held.trimStart();
    const opening = OPENING.find((tag) => start.slice(0, tag.length).toLowerCase() === tag);
    if (opening !== undefined) {
      this.#state = 'thinking';
      this.#closing = opening.replace('<', '</');
      this.#held = start.slice(opening.length);
      controller.enqueue({ type: 'reasoning-start', id: `thinking-${this.#id}` });
    } else if (start !== '' && !OPENING.some((tag) => tag.startsWith(start.toLowerCase())))
      this.#state = 'text';
  }

  #endThinking(controller: Controller): void {
    const end = indexOfTag(this.#held, this.#closing);
    if (end === -1) {
      const safe = this.#held.length - partialEnd(this.#held, this.#closing);
      this.#think(this.#held.slice(0, safe), controller);
      this.#held = this.#held.slice(safe);
      return;
    }
    this.#think(this.#held.slice(0, end), controller);
    controller.enqueue({ type: 'reasoning-end', id: `thinking-${this.#id}` });
    this.#held = this.#held.slice(end + this.#closing.length);
    this.#state = 'text';
    this.#isTrimming = true;
  }

  #think(delta: string, controller: Controller): void {
    if (delta !== '') controller.enqueue({ type: 'reasoning-delta', id: `thinking-${this.#id}`, delta });
  }

  #say(text: string, controller: Controller): void {
    const delta = this.#isTrimming ? text.trimStart() : text;
    if (delta === '') return;
    this.#isTrimming = false;
    if (!this.#isTextOpen) controller.enqueue({ type: 'text-start', id: this.#id });
    this.#isTextOpen = true;
    controller.enqueue({ type: 'text-delta', id: this.#id, delta });
  }
}

const isText = (part: LanguageModelV4StreamPart): part is TextPart =>
  part.type === 'text-start' || part.type === 'text-delta' || part.type === 'text-end';

const indexOfTag = (text: string, tag: string): number => text.search(new RegExp(tag, 'i'));

/** How many characters at the end of the text may be the beginning of the tag. */
function partialEnd(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1)
    if (tag.startsWith(text.slice(-length).toLowerCase())) return length;
  return 0;
}
