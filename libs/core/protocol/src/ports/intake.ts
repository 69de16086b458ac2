import type { JsonObject, JsonValue } from '../wire/json.ts';

export type Scope = 'announce' | 'dispatch' | 'read' | 'join' | (string & {});

/** The authenticated caller of a request. */
export interface Caller {
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Aborts when the caller is none any more: its open requests are cut off. Absent for a caller of the configuration. */
  readonly ended?: AbortSignal;
}

/** An A2A message as it arrived: its text, its data parts and its JSON. */
export interface InboundMessage {
  readonly messageId: string;
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
  /** All text parts, joined by newlines. */
  readonly text: string;
  readonly data: readonly {
    readonly data: JsonValue;
    readonly mediaType: string | undefined;
    /** The JSON text of `data` in the request, if known. It keeps duplicate names, which parsing drops. */
    readonly text?: string;
  }[];
  /** The message as A2A JSON. */
  readonly raw: JsonObject;
  /** The request's `traceparent` (W3C Trace Context). */
  readonly traceparent?: string;
}

/** The outcome of an intake: a task in the ledger, or an immediate reply. */
export type Accepted =
  | { readonly kind: 'task'; readonly taskId: string; readonly metadata?: JsonObject }
  | {
      readonly kind: 'reply';
      readonly contextId: string;
      readonly data?: JsonObject;
      /** A data part that is no handshake message. */
      readonly remark?: JsonObject;
      readonly text?: string;
    };

/** Receives inbound messages. */
export interface Intake {
  /** The outcome is durable when this resolves. A FleetError means that nothing was stored. */
  accept(message: InboundMessage, caller: Caller): Promise<Accepted>;
  /** Resolves when the task's terminal event is durable. Throws TASK_NOT_CANCELABLE. */
  cancel(taskId: string, caller: Caller): Promise<void>;
}
