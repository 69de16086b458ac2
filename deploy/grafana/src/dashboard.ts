import {
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DATASOURCE } from './panels.ts';

/** Label matcher for the profiles selected on the dashboard. */
export const OF_PROFILE = 'profile=~"$profile"';

/** A multi-value dashboard variable for label values, with all of them selected by default. */
export function labelVariable({
  name,
  label,
  query,
}: {
  readonly name: string;
  readonly label: string;
  readonly query: string;
}) {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: 'All', value: '$__all' });
}

/** A dashboard with the last hour and the variables for data source and profile. */
export function newDashboard(options: {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** The metric whose `profile` labels can be selected. */
  readonly profilesOf: string;
}): DashboardBuilder {
  return new DashboardBuilder(options.title)
    .uid(options.uid)
    .description(options.description)
    .tags(['hermes-fleet'])
    .time({ from: 'now-1h', to: 'now' })
    .refresh('10s')
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(
      labelVariable({
        name: 'profile',
        label: 'Profile',
        query: `label_values(${options.profilesOf}, profile)`,
      }),
    );
}
