import { OF_PROFILE } from './dashboard.ts';

/** The rate of a counter per second, without series that stand still. */
export const rateOf = (counter: string, by: string, where = ''): string =>
  `sum by (${by}) (rate(${counter}{${OF_PROFILE}${where && `,${where}`}}[$__rate_interval])) > 0`;

/** A quantile of a histogram, without series in which nothing was measured. */
export const quantileOf = (quantile: number, histogram: string, by: string, where = ''): string =>
  `histogram_quantile(${quantile}, sum by (le, ${by}) (rate(${histogram}_bucket{${OF_PROFILE}${where && `,${where}`}}[$__rate_interval]))) >= 0`;

/** Median and 95th percentile of a histogram by profile. */
export const mediansOf = (histogram: string, where = '') => [
  { expr: quantileOf(0.5, histogram, 'profile', where), legend: '{{profile}} p50' },
  { expr: quantileOf(0.95, histogram, 'profile', where), legend: '{{profile}} p95' },
];
