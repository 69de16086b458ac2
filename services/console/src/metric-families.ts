import { type Families, PROCESS_FAMILIES, type Readers } from '@hermes-fleet/service';
import { FILTERS } from './consume/readers.ts';

const OWN = {
  fleet_console_events_total: {
    help: 'messages that were read from the bus: `tasks`, `control`, `announces`, `audit`',
    labels: { topic: Object.keys(FILTERS) },
  },
  fleet_console_events_skipped_total: { help: 'messages that are no usable events, and were skipped' },
  fleet_console_events_behind: {
    help: 'events on the bus that are not read yet; 0 while the bus is away',
    read: true,
  },
  fleet_console_bus_connected: { help: '1 while all streams are read, else 0', read: true },
  fleet_console_sessions: { help: 'open sessions', read: true },
} as const satisfies Families;

/** The metrics of the console: those of every process, and its own. */
export const CONSOLE_FAMILIES = { ...PROCESS_FAMILIES, ...OWN };

/** The sources of its own metrics that are read at each scrape. */
export type ConsoleReaders = Readers<typeof OWN>;
