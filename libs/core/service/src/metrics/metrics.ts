import { collectDefaultMetrics, Registry } from 'prom-client';
import { MEMBER_FAMILIES, type PROCESS_FAMILIES } from './families.ts';
import { createRecorder, type Recorder } from './recorder.ts';

/** The interval at which the delay of the event loop is measured. Each measurement wakes an idle process. */
const EVENT_LOOP_MS = 100;
/** Gauges of prom-client with the ending of a counter; their counterparts without it have the same values by type. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** The metrics that every process has. */
export type ProcessMetrics = Recorder<typeof PROCESS_FAMILIES>;

/** The metrics of a member (docs/metrics.md). */
export type FleetMetrics = Recorder<typeof MEMBER_FAMILIES>;

export interface MetricsOptions {
  readonly profile: string;
  /** The peers that may be label values; others become `other`. */
  readonly peers: readonly string[];
  /** The callers that may be label values; others become `other`. */
  readonly callers: readonly string[];
  /** The model tiers of the fleet; default: `haiku`, `sonnet`, `opus`. */
  readonly tiers?: readonly string[];
  /** Includes Node's own metrics; default: true. */
  readonly defaultMetrics?: boolean;
}

/** The metrics of a member on a registry of their own. */
export function createMetrics({
  profile,
  peers,
  callers,
  tiers = ['haiku', 'sonnet', 'opus'],
  defaultMetrics = true,
}: MetricsOptions): FleetMetrics {
  const registry = defaultMetrics ? createRegistry() : new Registry();
  return createRecorder(registry, MEMBER_FAMILIES, {
    profile: [profile],
    peers,
    hops: [...peers, profile],
    callers,
    tiers,
  });
}

/** A registry with Node's own metrics. */
export function createRegistry(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  for (const name of MISNAMED) register.removeSingleMetric(name);
  return register;
}
