import type { Caller, JsonObject } from '@hermes-fleet/protocol';

/** A call of a method that the service has beside those of A2A. */
export interface CustomMethodCall {
  /** `params` as they stand in the request; undefined where there are none. */
  readonly paramsText: string | undefined;
  readonly caller: Caller;
  /** The W3C trace context of the request. */
  readonly traceparent: string;
}

/** What such a method answers: its result, and what HTTP says with it. */
export interface CustomMethodReply {
  readonly status: number;
  readonly result: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A JSON-RPC method of the service's own: found before A2A's, whatever `A2A-Version` says. Authentication is all that is
 * checked before it runs. What it throws is answered as a JSON-RPC error.
 */
export interface CustomMethod {
  run(call: CustomMethodCall): Promise<CustomMethodReply>;
}
