import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  BigValueTextMode,
  LegendDisplayMode,
  LegendPlacement,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import { MappingType, type Panel, type ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** One question to Prometheus and the name of its answer. */
export interface Query {
  readonly expr: string;
  readonly legend: string;
}

/** What every panel must say (design 5, Prometheus and Grafana): a unit, a description and legends. */
export interface PanelText {
  readonly title: string;
  readonly description: string;
  /** Grafana's unit id: `short`, `s`, `percentunit`, … */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Columns of the 24 that a row has. */
  readonly span: number;
}

/** The data source that the reader chose at the top of the dashboard. */
export const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

const target = (query: Query, index: number, instant: boolean): DataqueryBuilder => {
  const builder = new DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(String.fromCharCode(65 + index))
    .expr(query.expr)
    .legendFormat(query.legend);
  return instant ? builder.instant() : builder.range();
};

const inTable = (): VizLegendOptionsBuilder =>
  new VizLegendOptionsBuilder()
    .showLegend(true)
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Bottom);

/** A curve over time, its newest values in the legend; from 0 on unless it says that it floats. */
export function curve(id: number, text: PanelText & { readonly floats?: true }): Builder<Panel> {
  const builder = new TimeseriesBuilder()
    .id(id)
    .title(text.title)
    .description(text.description)
    .datasource(DATASOURCE)
    .unit(text.unit)
    .height(8)
    .span(text.span)
    .fillOpacity(10)
    .legend(inTable().calcs(['lastNotNull', 'max']))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi))
    .targets(text.queries.map((query, index) => target(query, index, false)));
  return text.floats ? builder : builder.min(0);
}

/** What a number stands for: words for values, in colours of Grafana's. */
export type Meaning = Readonly<Record<number, readonly [word: string, color: string]>>;

const mappings = (meaning: Meaning): ValueMapping[] => [
  {
    type: MappingType.ValueToText,
    options: Object.fromEntries(
      Object.entries(meaning).map(([value, [text, color]], index) => [value, { text, color, index }]),
    ),
  },
];

/** One number, as of now; `shows: 'name'` shows the legend of what there is instead of its value. */
export function figure(
  id: number,
  text: PanelText & {
    readonly decimals?: number;
    readonly shows?: 'name';
    readonly meaning?: Meaning;
  },
): Builder<Panel> {
  const builder = new StatBuilder()
    .id(id)
    .title(text.title)
    .description(text.description)
    .datasource(DATASOURCE)
    .unit(text.unit)
    .height(4)
    .span(text.span)
    .noValue('none yet')
    .targets(text.queries.map((query, index) => target(query, index, true)));
  if (text.shows === 'name') builder.textMode(BigValueTextMode.Name);
  if (text.meaning) builder.mappings(mappings(text.meaning));
  return text.decimals === undefined ? builder : builder.decimals(text.decimals);
}

/** States over time, a line for each query's series. */
export function states(id: number, text: PanelText & { readonly meaning: Meaning }): Builder<Panel> {
  return new StateTimelineBuilder()
    .id(id)
    .title(text.title)
    .description(text.description)
    .datasource(DATASOURCE)
    .unit(text.unit)
    .height(8)
    .span(text.span)
    .mappings(mappings(text.meaning))
    .legend(inTable())
    .targets(text.queries.map((query, index) => target(query, index, false)));
}
