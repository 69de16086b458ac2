import { setTimeout } from 'node:timers/promises';
import type { Log, Span, SpanStart, Tracing } from '@hermes-fleet/protocol/ports';
import {
  type Context,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { parseTraceparent } from '../http/trace.ts';
import type { TracingSettings } from './settings.ts';

export interface TracingOptions {
  /** The name of the service in traces. */
  readonly name: string;
  readonly version: string;
  readonly log: Log;
}

export interface OpenTracing extends Tracing {
  /** Sends what has not been sent, for at most 2 s, and stops. Never rejects. */
  close(): Promise<void>;
}

const CLOSE_MS = 2_000;
/** Bounds the codes of errors, which may come from peers and providers. */
const MAX_CODE = 100;

/** Sends spans by OTLP over HTTP, in batches from a bounded queue, with the official SDK. It sets no global state. */
export function createOtlpTracing(
  settings: TracingSettings,
  { name, version, log }: TracingOptions,
): OpenTracing {
  const exporter = reportFailures(new OTLPTraceExporter({ url: settings.url }), log);
  const provider = new TracerProvider({
    sampler: samplerOf(settings),
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': name,
          'service.namespace': 'hermes-fleet',
          'service.version': version,
        }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: settings.queueSpans,
        maxExportBatchSize: settings.batchSpans,
        scheduledDelayMillis: settings.delayMs,
        exportTimeoutMillis: settings.exportTimeoutMs,
      }),
    ],
  });
  const tracer = provider.getTracer('hermes-fleet', version);
  // The path and the query of the address may hold a key.
  log.info({ collector: new URL(settings.url).host, sampler: settings.sampler }, 'traces are exported');
  return {
    start(spanName, { kind = 'internal', parent, links = [], attributes, startedAt }: SpanStart = {}): Span {
      const span = tracer.startSpan(
        spanName,
        {
          kind: SpanKind[kind.toUpperCase() as Uppercase<typeof kind>],
          links: links.flatMap(linkTo),
          ...(attributes === undefined ? {} : { attributes: writable(attributes) }),
          ...(startedAt === undefined ? {} : { startTime: startedAt }),
        },
        contextOf(parent),
      );
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags & 1 ? '01' : '00'}`,
        set: (more) => void span.setAttributes(writable(more)),
        end(failure) {
          if (!span.isRecording()) return;
          if (failure !== undefined) {
            const code = failure.slice(0, MAX_CODE);
            span.setAttribute('error.type', code);
            span.setStatus({ code: SpanStatusCode.ERROR, message: code });
          }
          span.end();
        },
      };
    },
    async close() {
      const flushed = provider.shutdown().catch(() => undefined);
      await Promise.race([flushed, setTimeout(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const root = sampler.endsWith('traceidratio')
    ? new TraceIdRatioBasedSampler(ratio)
    : sampler.endsWith('always_on')
      ? new AlwaysOnSampler()
      : new AlwaysOffSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function contextOf(traceparent: string | undefined): Context {
  const parent = spanContextOf(traceparent);
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

function linkTo(traceparent: string): Link[] {
  const context = spanContextOf(traceparent);
  return context === undefined ? [] : [{ context }];
}

function spanContextOf(traceparent: string | undefined): SpanContext | undefined {
  const parsed = parseTraceparent(traceparent);
  return parsed && { ...parsed, traceFlags: parsed.isSampled ? 1 : 0, isRemote: true };
}

type Attributes = NonNullable<SpanStart['attributes']>;

/** The SDK's type of attributes has no read-only lists. */
const writable = (attributes: Attributes): Record<string, string | number | boolean | string[] | undefined> =>
  Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, typeof value === 'object' ? [...value] : value]),
  );

/** `ExportResultCode.SUCCESS` of @opentelemetry/core, which the SDK does not export again. */
const SUCCESS = 0;

/**
 * Logs one line when an export fails, and one when exports succeed again. A collector that is away costs no more: what was
 * not sent is dropped, and the queue of the rest is bounded.
 */
function reportFailures(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code === SUCCESS && isFailing) log.info({}, 'traces are exported again');
        if (result.code !== SUCCESS && !isFailing)
          log.warn(
            { reason: result.error?.message },
            'traces are not exported: the collector does not take them',
          );
        isFailing = result.code !== SUCCESS;
        // A failure is reported above; the SDK would write it to the console too.
        done({ code: SUCCESS });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
