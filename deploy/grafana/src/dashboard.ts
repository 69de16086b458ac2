import {
  AnnotationQueryBuilder,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
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

/** The port of the console (docs/operations.md#ports). */
const CONSOLE = 'http://localhost:9224';

/** A line at each start of a process. */
const restarts = (): AnnotationQueryBuilder =>
  new AnnotationQueryBuilder()
    .name('Starts')
    .datasource(DATASOURCE)
    .enable(true)
    .iconColor('blue')
    .expr(`process_start_time_seconds{${OF_PROFILE}} * 1000`)
    .useValueForTime(true)
    .titleFormat('{{profile}} started');

/** A line where a service starts with other code than before. */
const deploys = (): AnnotationQueryBuilder =>
  new AnnotationQueryBuilder()
    .name('Deploys')
    .datasource(DATASOURCE)
    .enable(true)
    .iconColor('purple')
    .expr(`fleet:deploy:timestamp_seconds{${OF_PROFILE}} * 1000`)
    .useValueForTime(true)
    .titleFormat('{{profile}} deployed')
    .textFormat('{{version}}, revision {{revision}}');

/**
 * A dashboard with the last hour, the variables for data source and profile, links to the other dashboards and to the
 * console, and the starts of processes and deploys as annotations.
 */
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
    .annotation(restarts())
    .annotation(deploys())
    .links([
      new DashboardLinkBuilder('Dashboards')
        .type(DashboardLinkType.Dashboards)
        .tags(['hermes-fleet'])
        .includeVars(true)
        .keepTime(true),
      new DashboardLinkBuilder('Console').type(DashboardLinkType.Link).url('$console').targetBlank(true),
    ])
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(
      labelVariable({
        name: 'profile',
        label: 'Profile',
        query: `label_values(${options.profilesOf}, profile)`,
      }),
    )
    .withVariable(
      new TextBoxVariableBuilder('console')
        .label('Console')
        .defaultValue(CONSOLE)
        .current({ selected: true, text: CONSOLE, value: CONSOLE }),
    );
}
