import { resolve } from 'node:path';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { decimalText } from '../terms/decimal-text.ts';
import { money } from '../terms/money.ts';
import type { Feed } from '../terms/strategy.ts';
import { createCsvFeed } from './csv.ts';
import { createSyntheticFeed } from './synthetic.ts';

const intervalS = z.number().min(0.01).max(86_400).default(5).describe('the time between two bars');

/** The feed of a concern in trader.yaml. */
export const FeedSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('synthetic').describe('a random walk that its seed determines, or a file'),
    seed: z.int().min(0).max(4_294_967_295).default(1).describe('where the walk begins'),
    start_price: decimalText({ above: '0' }).describe('the first close'),
    volatility_bps: z
      .number()
      .min(0)
      .max(1_000)
      .default(20)
      .describe('the standard deviation of the change from close to close'),
    interval_s: intervalS,
  }),
  z.strictObject({
    kind: z.literal('csv').describe('as above'),
    file: z.string().min(1).max(500).describe('next to trader.yaml'),
    interval_s: intervalS,
  }),
]);

export type FeedConfig = z.output<typeof FeedSchema>;

/**
 * Creates the configured feed. A relative `file` is resolved against `folder` (default: the working directory). Throws
 * CONFIG_INVALID for a file that cannot be read or that has malformed rows.
 */
export function createFeed(config: FeedConfig, clock: Clock, folder = '.'): Feed {
  const intervalMs = Math.round(config.interval_s * 1000);
  if (config.kind === 'csv') {
    const feed = createCsvFeed({ file: resolve(folder, config.file), intervalMs }, clock);
    return { ...feed, name: `csv ${config.file}` };
  }
  const { seed, start_price, volatility_bps } = config;
  const startPrice = money(start_price);
  const volatilityBps = money(String(volatility_bps));
  // The walk goes on from the last close, whatever its parameters are.
  const feed = createSyntheticFeed({ seed, startPrice, volatilityBps, intervalMs }, clock);
  return { ...feed, name: 'synthetic' };
}
