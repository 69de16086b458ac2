import {
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DATASOURCE } from './panels.ts';

/** Narrows a query to the profiles that the reader chose. */
export const OF_PROFILE = 'profile=~"$profile"';

/** A choice of label values at the top of a dashboard, all of them at first. */
export function choice(o: { readonly name: string; readonly label: string; readonly query: string }) {
  return new QueryVariableBuilder(o.name)
    .label(o.label)
    .datasource(DATASOURCE)
    .query(o.query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: 'All', value: '$__all' });
}

/** What all dashboards have in common: the last hour, the data source, and the profiles that have a metric. */
export function board(o: {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** The metric whose profiles can be chosen. */
  readonly profilesOf: string;
}): DashboardBuilder {
  return new DashboardBuilder(o.title)
    .uid(o.uid)
    .description(o.description)
    .tags(['hermes-fleet'])
    .time({ from: 'now-1h', to: 'now' })
    .refresh('10s')
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(
      choice({ name: 'profile', label: 'Profile', query: `label_values(${o.profilesOf}, profile)` }),
    );
}
