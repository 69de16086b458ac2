import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const FOLDER = join(import.meta.dirname, '../dashboards');

export interface Panel {
  readonly id?: number;
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit?: string;
      readonly custom?: { readonly thresholdsStyle?: { readonly mode: string } };
      readonly thresholds?: { readonly steps: readonly { readonly value: number | null }[] };
    };
  };
}

interface Variable {
  readonly name: string;
  readonly query: string;
}

export interface Dashboard {
  readonly title: string;
  readonly tags: readonly string[];
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
  readonly links: readonly {
    readonly type: string;
    readonly tags: readonly string[];
    readonly url?: string;
  }[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}

/** A committed dashboard, as Grafana reads it. */
export const read = (name: string): Dashboard =>
  JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));

export const charts = (name: string): Panel[] => read(name).panels.filter(({ type }) => type !== 'row');

export const expressions = (name: string): string[] =>
  charts(name).flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));

/** A query without the filter at its end that leaves out series in which nothing happens. */
export const unfiltered = (expr: string): string => expr.replace(/ >=? 0$/, '');

/** A query with Grafana's variables replaced. */
export const filled = (expr: string): string =>
  expr
    .replaceAll('$profile', '.+')
    .replaceAll('$concern', '.+')
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$__range', '1h');
