import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { fleetOverview } from './fleet-overview.ts';
import { trader } from './trader.ts';

/** Every dashboard, by the name of its file. */
export const dashboards: Readonly<Record<string, () => Dashboard>> = {
  'fleet-overview': fleetOverview,
  trader,
};

/** A dashboard as the text of its file. */
export function render(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
