import { createMetrics, type FleetMetrics } from '@hermes-fleet/service';
import { Counter, Gauge } from 'prom-client';
import { FILTERS } from './consume/readers.ts';
import { CONSOLE_NAME } from './environment.ts';

export interface ConsoleMetrics {
  readonly fleet: FleetMetrics;
  projected(topic: string, count: number): void;
  skipped(count: number): void;
}

/** What the console's gauges show when they are read. */
export interface ConsoleFigures {
  readonly connected: boolean;
  readonly behind: number | undefined;
  readonly sessions: number;
}

/** The metrics of the console (docs/metrics.md): those of its HTTP server, and its own. */
export function createConsoleMetrics(figures: () => ConsoleFigures): ConsoleMetrics {
  const fleet = createMetrics({ profile: CONSOLE_NAME, peers: [], callers: [] });
  const { registry } = fleet;
  // A console has no tasks of its own: without these families no dashboard shows it as a profile that does nothing.
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith('fleet_') && !name.startsWith('fleet_http_')) registry.removeSingleMetric(name);
  const { events, skips } = registerConsoleFamilies(registry, figures);
  return {
    fleet,
    projected: (topic, count) => events.inc({ topic }, count),
    skipped: (count) => skips.inc(count),
  };
}

/** Registers the families that only the console has. */
export function registerConsoleFamilies(
  registry: FleetMetrics['registry'],
  figures: () => ConsoleFigures,
): { events: Counter<'topic'>; skips: Counter } {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  gauge('fleet_console_bus_connected', '1 while all streams are read, else 0.', () =>
    Number(figures().connected),
  );
  gauge(
    'fleet_console_events_behind',
    'Events on the bus that are not read yet.',
    () => figures().behind ?? 0,
  );
  gauge('fleet_console_sessions', 'Open sessions.', () => figures().sessions);
  const events = new Counter({
    name: 'fleet_console_events_total',
    help: 'Messages that were read from the bus, by topic.',
    labelNames: ['topic'],
    registers,
  });
  for (const topic of Object.keys(FILTERS)) events.inc({ topic }, 0);
  return {
    events,
    skips: new Counter({
      name: 'fleet_console_events_skipped_total',
      help: 'Messages on the bus that are no usable events, and were skipped.',
      registers,
    }),
  };
}
