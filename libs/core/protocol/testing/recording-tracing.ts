import type { SpanAttributes, SpanStart, Tracing } from '../src/ports/tracing.ts';

/** A span as `recordingTracing` keeps it. */
export interface RecordedSpan extends SpanStart {
  readonly name: string;
  readonly traceparent: string;
  readonly attributes: SpanAttributes;
  readonly isEnded: boolean;
  /** The code of the error that the span ended with. */
  readonly failure: string | undefined;
}

export interface RecordingTracing extends Tracing {
  /** All spans in the order of their starts. */
  readonly spans: readonly RecordedSpan[];
  named(name: string): RecordedSpan[];
  /** The span of this name. Throws when there is not exactly one. */
  only(name: string): RecordedSpan;
}

/** Keeps every span. One continues the trace of its parent; one without a parent begins the trace of zeros. */
export function recordingTracing(): RecordingTracing {
  const spans: RecordedSpan[] = [];
  const named = (name: string): RecordedSpan[] => spans.filter((span) => span.name === name);
  return {
    spans,
    named,
    only(name) {
      const [found, ...more] = named(name);
      if (found && more.length === 0) return found;
      throw new Error(`${named(name).length} spans ${name} of ${spans.map((span) => span.name).join(', ')}`);
    },
    start(name, start = {}) {
      const id = (spans.length + 1).toString(16).padStart(16, '0');
      const trace = start.parent?.split('-')[1] ?? '0'.repeat(32);
      const traceparent = `00-${trace}-${id}-01`;
      const at = spans.push({
        ...start,
        name,
        traceparent,
        attributes: { ...start.attributes },
        isEnded: false,
        failure: undefined,
      });
      const change = (next: (span: RecordedSpan) => Partial<RecordedSpan>): void => {
        const span = spans[at - 1];
        if (span && !span.isEnded) spans[at - 1] = { ...span, ...next(span) };
      };
      return {
        traceparent,
        set: (more) => change(({ attributes }) => ({ attributes: { ...attributes, ...more } })),
        end: (failure) => change(() => ({ isEnded: true, failure })),
      };
    },
  };
}
