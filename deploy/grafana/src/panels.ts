import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  BigValueTextMode,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  MappingType,
  type Panel,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** A PromQL query and the legend of its series. */
export interface Query {
  readonly expr: string;
  readonly legend: string;
}

export interface PanelOptions {
  readonly title: string;
  readonly description: string;
  /** A Grafana unit id: `short`, `s`, `percentunit`, … */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Width in columns; a row has 24. */
  readonly span: number;
}

/** The data source selected on the dashboard. */
export const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

const target = (query: Query, index: number, instant: boolean): DataqueryBuilder => {
  const builder = new DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(String.fromCharCode(65 + index))
    .expr(query.expr)
    .legendFormat(query.legend);
  return instant ? builder.instant() : builder.range();
};

const tableLegend = (): VizLegendOptionsBuilder =>
  new VizLegendOptionsBuilder()
    .showLegend(true)
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Bottom);

/**
 * A time series with its latest values in the legend. The axis starts at 0 unless `fromZero` is false; a `threshold` is drawn
 * as a red line.
 */
export function timeSeries(
  id: number,
  options: PanelOptions & { readonly fromZero?: false; readonly threshold?: number },
): Builder<Panel> {
  const builder = new TimeseriesBuilder()
    .id(id)
    .title(options.title)
    .description(options.description)
    .datasource(DATASOURCE)
    .unit(options.unit)
    .height(8)
    .span(options.span)
    .fillOpacity(10)
    .legend(tableLegend().calcs(['lastNotNull', 'max']))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi))
    .targets(options.queries.map((query, index) => target(query, index, false)));
  if (options.threshold !== undefined)
    builder
      .thresholds(thresholdAt(options.threshold))
      .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Line));
  return options.fromZero === false ? builder : builder.min(0);
}

const thresholdAt = (value: number): ThresholdsConfigBuilder =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
    { value: null, color: 'green' },
    { value, color: 'red' },
  ]);

/** Text and Grafana color for each value. */
export type ValueLabels = Readonly<Record<number, readonly [text: string, color: string]>>;

/** The colors of something that answers, or does not. */
export const UP: ValueLabels = { 0: ['down', 'red'], 1: ['up', 'green'] };

const mappings = (valueLabels: ValueLabels): ValueMapping[] => [
  {
    type: MappingType.ValueToText,
    options: Object.fromEntries(
      Object.entries(valueLabels).map(([value, [text, color]], index) => [value, { text, color, index }]),
    ),
  },
];

/** A single current value; `shows: 'name'` shows the legend of the series instead of its value. */
export function stat(
  id: number,
  options: PanelOptions & {
    readonly decimals?: number;
    readonly shows?: 'name';
    readonly valueLabels?: ValueLabels;
  },
): Builder<Panel> {
  const builder = new StatBuilder()
    .id(id)
    .title(options.title)
    .description(options.description)
    .datasource(DATASOURCE)
    .unit(options.unit)
    .height(4)
    .span(options.span)
    .noValue('none yet')
    .targets(options.queries.map((query, index) => target(query, index, true)));
  if (options.shows === 'name') builder.textMode(BigValueTextMode.Name);
  if (options.valueLabels) builder.mappings(mappings(options.valueLabels));
  return options.decimals === undefined ? builder : builder.decimals(options.decimals);
}

/** States over time, one line per series. */
export function stateTimeline(
  id: number,
  options: PanelOptions & { readonly valueLabels: ValueLabels },
): Builder<Panel> {
  return new StateTimelineBuilder()
    .id(id)
    .title(options.title)
    .description(options.description)
    .datasource(DATASOURCE)
    .unit(options.unit)
    .height(8)
    .span(options.span)
    .mappings(mappings(options.valueLabels))
    .legend(tableLegend())
    .targets(options.queries.map((query, index) => target(query, index, false)));
}
