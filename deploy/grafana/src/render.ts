import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { agent } from './agent.ts';
import { fleet } from './fleet.ts';
import { fleetOverview } from './fleet-overview.ts';
import { operations } from './operations.ts';
import { tasks } from './tasks.ts';
import { trader } from './trader.ts';

/** Every dashboard by file name. */
export const dashboards: Readonly<Record<string, () => Dashboard>> = {
  agent,
  fleet,
  'fleet-overview': fleetOverview,
  operations,
  tasks,
  trader,
};

/** The JSON file of a dashboard. */
export function render(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
