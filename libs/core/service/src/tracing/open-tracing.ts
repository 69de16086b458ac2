import type { OpenTracing, TracingOptions } from './otlp-tracing.ts';
import { readTracingSettings } from './settings.ts';

/**
 * Opens the export of traces that the standard variables of OpenTelemetry describe (docs/traces.md). Undefined, with
 * nothing loaded, while `OTEL_EXPORTER_OTLP_ENDPOINT` is not set. Throws CONFIG_INVALID for a variable that cannot be used.
 */
export async function openTracing(
  env: NodeJS.ProcessEnv,
  options: TracingOptions,
): Promise<OpenTracing | undefined> {
  const settings = readTracingSettings(env);
  if (settings === undefined) return undefined;
  const { createOtlpTracing } = await import('./otlp-tracing.ts');
  return createOtlpTracing(settings, options);
}
