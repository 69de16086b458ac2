/** The values of a span's attributes: names, sizes, codes and outcomes, never content. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export interface SpanStart {
  /** Default: `internal`. */
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** The `traceparent` of the span that this one belongs to (W3C Trace Context); without a valid one, a trace begins. */
  readonly parent?: string | undefined;
  /** The `traceparent` of spans that caused this one, and may belong to other traces. */
  readonly links?: readonly string[];
  readonly attributes?: SpanAttributes;
  /** Milliseconds since the epoch; default: now. */
  readonly startedAt?: number;
}

/** A span that has begun. */
export interface Span {
  /** For outgoing requests, and as the parent of other spans. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  /** Ends the span once; `failure` is the code of an error, not its text. */
  end(failure?: string): void;
}

/** Records spans (docs/traces.md). Code gets `undefined` in its place where traces are off. Never throws. */
export interface Tracing {
  start(name: string, start?: SpanStart): Span;
}

/**
 * Does the work inside a span, which ends with it, as failed if it throws; without tracing, does the work alone. The span
 * of an error names its `code`, or else its class.
 */
export async function inSpan<T>(
  tracing: Tracing | undefined,
  name: string,
  start: SpanStart,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (tracing === undefined) return work(undefined);
  const span = tracing.start(name, start);
  try {
    const value = await work(span);
    span.end();
    return value;
  } catch (error) {
    span.end(failureCode(error));
    throw error;
  }
}

/** The code of an error for `Span.end`: its own, or else its class. */
export function failureCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
