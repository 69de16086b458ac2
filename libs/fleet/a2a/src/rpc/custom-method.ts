import type { JsonObject } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';

export interface CustomMethodCall {
  /** The raw JSON of `params`; undefined when absent. */
  readonly paramsText: string | undefined;
  readonly caller: Caller;
  /** The W3C trace context of the request. */
  readonly traceparent: string;
}

export interface CustomMethodReply {
  /** The HTTP status. */
  readonly status: number;
  readonly result: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A JSON-RPC method that a service adds to those of A2A. It takes precedence over them and ignores `A2A-Version`. Only
 * authentication is checked before it runs. An error that it throws becomes a JSON-RPC error.
 */
export interface CustomMethod {
  run(call: CustomMethodCall): Promise<CustomMethodReply>;
}
