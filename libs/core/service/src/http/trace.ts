import { randomBytes } from 'node:crypto';

/** The W3C Trace Context of a request: a new span in the caller's trace, or a new trace. */
export interface Trace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits; the span of this request. */
  readonly spanId: string;
  /** The header for replies, events and outgoing requests. */
  readonly traceparent: string;
}

const INCOMING = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const POOL_BYTES = 2048;
let pool = '';
let used = 0;

/** Random hex digits. One call of the system's generator costs about as much for a pool of them as for one id. */
function randomDigits(count: number): string {
  if (used + count > pool.length) {
    pool = randomBytes(POOL_BYTES).toString('hex');
    used = 0;
  }
  used += count;
  return pool.slice(used - count, used);
}

/** The span that a `traceparent` names. */
export interface ParentSpan extends Pick<Trace, 'traceId' | 'spanId'> {
  readonly isSampled: boolean;
}

/** Reads a `traceparent`; undefined for one that is missing or not valid. */
export function parseTraceparent(incoming: string | undefined): ParentSpan | undefined {
  const match = incoming === undefined || incoming.length > 256 ? null : INCOMING.exec(incoming);
  // Version 00 has exactly four fields; later versions may append some.
  if (match === null || (match[1] === '00' && match[5] !== undefined)) return undefined;
  const [, , traceId = '', spanId = '', flags = ''] = match;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Continues a valid incoming `traceparent` (same trace, new span), else starts a trace; never throws. */
export function continueTrace(incoming: string | undefined, digits = randomDigits): Trace {
  const parent = parseTraceparent(incoming);
  const traceId = parent?.traceId ?? digits(32);
  const flags = parent?.isSampled ? '01' : '00';
  const spanId = digits(16);
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

/** The trace of a span that has begun. */
export function traceOf({ traceparent }: { readonly traceparent: string }): Trace {
  const [, traceId = '', spanId = ''] = traceparent.split('-');
  return { traceId, spanId, traceparent };
}
