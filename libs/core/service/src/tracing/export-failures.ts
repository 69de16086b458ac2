import type { Log } from '@hermes-fleet/protocol/ports';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

/** `ExportResultCode.SUCCESS` of @opentelemetry/core, which the SDK does not export again. */
const SUCCESS = 0;

/**
 * Logs one line when an export fails, and one when exports succeed again. A collector that is away costs no more: what was
 * not sent is dropped, and the queue of the rest is bounded.
 */
export function reportFailures(exporter: SpanExporter, log: Log): SpanExporter {
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
