import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  LegendDisplayMode,
  LegendPlacement,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
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

/** A curve over time, its newest values in the legend. */
export function curve(id: number, text: PanelText): Builder<Panel> {
  return new TimeseriesBuilder()
    .id(id)
    .title(text.title)
    .description(text.description)
    .datasource(DATASOURCE)
    .unit(text.unit)
    .min(0)
    .height(8)
    .span(text.span)
    .fillOpacity(10)
    .legend(
      new VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .calcs(['lastNotNull', 'max']),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi))
    .targets(text.queries.map((query, index) => target(query, index, false)));
}

/** One number, as of now. */
export function figure(id: number, text: PanelText & { readonly decimals?: number }): Builder<Panel> {
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
  return text.decimals === undefined ? builder : builder.decimals(text.decimals);
}
