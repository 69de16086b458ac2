import { collectDefaultMetrics, type Registry } from 'prom-client';

/** The interval at which the delay of the event loop is measured. Each measurement wakes an idle process. */
const EVENT_LOOP_MS = 100;
/** Gauges of prom-client with the ending of a counter; their counterparts without it have the same values by type. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Adds Node's own metrics to the registry. */
export function collectNodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}
