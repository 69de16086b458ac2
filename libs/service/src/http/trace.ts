import { randomUUID } from 'node:crypto';

/** The W3C Trace Context of a request: a new span in the caller's trace, or a new trace. */
export interface Trace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits; the span of this request. */
  readonly spanId: string;
  /** The header for replies, events and outgoing requests. */
  readonly traceparent: string;
}

const INCOMING = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;

interface Random {
  /** A UUID, of any version. */
  uuid(): string;
}

/** Node draws the random bytes of many UUIDs at once, so one costs a tenth of a UUIDv7. */
const RANDOM: Random = { uuid: () => randomUUID() };

const hex = (random: Random): string => random.uuid().replaceAll('-', '');

/** Continues a valid incoming `traceparent` (same trace, new span), else starts a trace; never throws. */
export function continueTrace(incoming: string | undefined, random = RANDOM): Trace {
  const match = incoming === undefined || incoming.length > 256 ? null : INCOMING.exec(incoming);
  // Version 00 has exactly four fields; later versions may append some.
  const valid = match !== null && !(match[1] === '00' && match[4] !== undefined);
  const traceId = (valid ? match[2] : undefined) ?? hex(random);
  const flags = valid && Number.parseInt(match[3] ?? '', 16) & 1 ? '01' : '00';
  // The last 16 digits of a UUID are the random ones.
  const spanId = hex(random).slice(16);
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}
