import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { until } from './fleet.ts';

/** A span as a collector received it. */
export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** The trace and the span of each link. */
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

export interface OtlpCollector {
  readonly endpoint: string;
  readonly spans: readonly CollectedSpan[];
  /** Resolves with the first span that fits, as soon as it has arrived. */
  find(what: string, fits: (span: CollectedSpan) => boolean): Promise<CollectedSpan>;
}

/** A collector that takes OTLP over HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/). */
export async function startCollector(t: TestContext): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    if (request.url === '/v1/traces') spans.push(...read(JSON.parse(text)));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    async find(what, fits) {
      await until(() => spans.some(fits), `the span ${what}`);
      const found = spans.find(fits);
      if (!found) throw new Error(`no span ${what}`);
      return found;
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the body of an export has no type of its own
type Body = any;

function read(body: Body): CollectedSpan[] {
  return body.resourceSpans.flatMap(({ resource, scopeSpans }: Body) =>
    scopeSpans.flatMap((scope: Body) =>
      scope.spans.map((span: Body) => ({
        service: String(attributesOf(resource)['service.name']),
        name: span.name,
        kind: span.kind,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        links: (span.links ?? []).map((link: Body) => `${link.traceId}-${link.spanId}`),
        attributes: attributesOf(span),
        isError: span.status?.code === 2,
      })),
    ),
  );
}

function attributesOf({ attributes = [] }: Body): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }: Body) => [key, plainValue(value)]));
}

const plainValue = (value: Body): unknown =>
  value.stringValue ??
  value.intValue ??
  value.doubleValue ??
  value.boolValue ??
  value.arrayValue?.values.map(plainValue);
