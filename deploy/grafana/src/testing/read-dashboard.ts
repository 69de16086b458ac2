import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const FOLDER = join(import.meta.dirname, '../../dashboards');

export interface Panel {
  readonly id?: number;
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
}

interface Variable {
  readonly name: string;
  readonly query: string;
}

/** A committed dashboard, as Grafana reads it. */
export const read = (
  name: string,
): { readonly panels: readonly Panel[]; readonly templating: { readonly list: readonly Variable[] } } =>
  JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));

export const charts = (name: string): Panel[] => read(name).panels.filter(({ type }) => type !== 'row');

export const expressions = (name: string): string[] =>
  charts(name).flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));

/** A query with Grafana's variables replaced. */
export const filled = (expr: string): string =>
  expr
    .replaceAll('$profile', '.+')
    .replaceAll('$concern', '.+')
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$__range', '1h');
