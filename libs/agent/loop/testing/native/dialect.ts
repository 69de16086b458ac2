import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import type { AgentConfigSchema } from '../../src/config/config-yaml.ts';

/** One answer of the model: what it thinks, and a call or a text. */
export interface Step {
  /** Counted from 1. */
  readonly turn: number;
  readonly thinking: string;
  readonly call?: { readonly name: string; readonly args: object };
  readonly text?: string;
}

/** The usage of every answer, in the fields of its dialect. */
export const USAGE = { fresh: 3_000, cached: 1_200, visible: 45, thought: 15 } as const;
export const INPUT = USAGE.fresh + USAGE.cached;
export const OUTPUT = USAGE.visible + USAGE.thought;

/** The delay that a refusal asks for, where its dialect has a way to say so. */
export const WAIT_S = 7;

/** How one provider speaks: scripted answers, and what is found in requests. */
export interface Dialect {
  /** Its row in docs/agent.md#what-was-run. */
  readonly provider: string;
  /** The npm package that calls it. */
  readonly package: string;
  readonly config: z.input<typeof AgentConfigSchema>;
  /** The path of `base_url`, and the path and query of a call. */
  readonly base: string;
  readonly path: string;
  readonly keyHeader: string;
  /** The stream of an answer. */
  readonly answer: (step: Step) => string;
  /** The answer with 429. */
  readonly refusal: { readonly headers?: Readonly<Record<string, string>>; readonly body: JsonValue };
  /** Whether the refusal says how long to wait, and whether usage tells thinking from text. */
  readonly saysWait: boolean;
  readonly countsThinking: boolean;
  /** The ids of the calls in a request, and of the calls that its results answer. */
  readonly ids: (body: JsonObject) => { readonly calls: unknown[]; readonly results: unknown[] };
  /** What of the first answer's thinking a request carries, and what it must be. */
  readonly returned: (body: JsonObject) => unknown;
  readonly thought: unknown;
}

/** Server-sent events; the name of an event is its `type`, where the dialect names them. */
export const sse = (events: readonly object[], named = false): string =>
  events
    .map((event) => {
      const name = named && 'type' in event ? `event: ${event.type}\n` : '';
      return `${name}data: ${JSON.stringify(event)}\n\n`;
    })
    .join('');

/** The objects in a list of a body. */
export const objects = (list: JsonValue | undefined): JsonObject[] =>
  Array.isArray(list) ? list.filter(isJsonObject) : [];

/** The text cut in two, as a stream has it. */
export const halves = (text: string): [string, string] => [text.slice(0, 5), text.slice(5)];
