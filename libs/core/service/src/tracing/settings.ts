import { FleetError } from '@hermes-fleet/protocol';

/** What the standard variables of OpenTelemetry say about traces (docs/traces.md#variables). */
export interface TracingSettings {
  /** Where spans are sent, with the path. */
  readonly url: string;
  readonly sampler: SamplerName;
  /** The share of traces for a sampler by ratio, 0 to 1. */
  readonly ratio: number;
  readonly queueSpans: number;
  readonly batchSpans: number;
  readonly delayMs: number;
  readonly exportTimeoutMs: number;
}

const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

/**
 * Reads the variables; undefined while traces are off, which they are without `OTEL_EXPORTER_OTLP_ENDPOINT`. Throws
 * CONFIG_INVALID with the name of a variable whose value cannot be used.
 */
export function readTracingSettings(env: NodeJS.ProcessEnv): TracingSettings | undefined {
  const read = (name: string): string | undefined => env[name]?.trim() || undefined;
  const endpoint = read('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === undefined || read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const exporter = read('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (exporter === 'none') return undefined;
  if (exporter !== 'otlp')
    throw invalid('OTEL_TRACES_EXPORTER', `"${exporter}" is not known: use otlp or none`);
  for (const name of ['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL']) {
    const protocol = read(name) ?? 'http/json';
    if (protocol !== 'http/json')
      throw invalid(
        name,
        `"${protocol}" is not supported: use http/json, which collectors accept at port 4318`,
      );
  }
  const whole = (name: string, fallback: number): number => {
    const text = read(name) ?? String(fallback);
    const value = Number(text);
    if (/^\d{1,9}$/.test(text) && value > 0) return value;
    throw invalid(name, `"${text}" is no whole number above 0`);
  };
  const queueSpans = whole('OTEL_BSP_MAX_QUEUE_SIZE', 2_048);
  return {
    url: urlOf(read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'), endpoint),
    ...samplerOf(read('OTEL_TRACES_SAMPLER'), read('OTEL_TRACES_SAMPLER_ARG')),
    queueSpans,
    batchSpans: Math.min(whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512), queueSpans),
    delayMs: whole('OTEL_BSP_SCHEDULE_DELAY', 5_000),
    exportTimeoutMs: whole('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
  };
}

function samplerOf(
  name = 'parentbased_always_on',
  argument = '1',
): Pick<TracingSettings, 'sampler' | 'ratio'> {
  const sampler = SAMPLERS.find((known) => known === name);
  if (!sampler) throw invalid('OTEL_TRACES_SAMPLER', `"${name}" is not known: use ${SAMPLERS.join(', ')}`);
  const ratio = Number(argument);
  if (sampler.endsWith('traceidratio') && !(ratio >= 0 && ratio <= 1))
    throw invalid('OTEL_TRACES_SAMPLER_ARG', `"${argument}" is no number from 0 to 1`);
  return { sampler, ratio };
}

function urlOf(traces: string | undefined, endpoint: string): string {
  const name = traces === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const text = traces ?? `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href;
  throw invalid(name, 'is no http address: use one like http://collector:4318');
}

const invalid = (name: string, problem: string): FleetError =>
  new FleetError('CONFIG_INVALID', `${name}: ${problem}`);
