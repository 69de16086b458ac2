import type { Caller, ControlResponse } from '@hermes-fleet/protocol';

/** Which of the three doors an attempt came through (design 4, Three doors). */
export type Transport = 'jsonrpc' | 'mcp' | 'a2a';

/** One authenticated attempt at a decision, as it arrived. */
export interface Attempt {
  readonly door: Transport;
  readonly caller: Caller;
  /** Whom the caller says it acts for: recorded, and believed for nothing. */
  readonly onBehalfOf?: string;
  /** The payload exactly as received; null where it was not read (too large, or never sent). */
  readonly text: string | null;
  readonly traceparent?: string;
}

/** What a door answers. */
export interface Answer {
  readonly response: ControlResponse;
  /** 200, or 403, 413, 429 where the attempt did not get as far as a judgement. Doors without a status leave it out. */
  readonly httpStatus: 200 | 403 | 413 | 429;
  /** Seconds, with 429. */
  readonly retryAfterS?: number;
}
