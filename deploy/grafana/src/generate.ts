import { writeFileSync } from 'node:fs';
import { dashboards, render } from './render.ts';

// Writes every dashboard to deploy/grafana/dashboards, which Grafana reads at its start.
for (const [name, build] of Object.entries(dashboards)) {
  writeFileSync(new URL(`../dashboards/${name}.json`, import.meta.url), render(build()));
}
