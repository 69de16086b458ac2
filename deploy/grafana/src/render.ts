import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { fleetOverview } from './fleet-overview.ts';
import { trader } from './trader.ts';

/** Every dashboard by file name. */
export const dashboards: Readonly<Record<string, () => Dashboard>> = {
  'fleet-overview': fleetOverview,
  trader,
};

/** The JSON file of a dashboard. */
export function render(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
