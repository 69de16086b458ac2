import { ClientTlsSchema } from '@hermes-fleet/net/tls';
import { z } from 'zod';

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be a name of letters, digits, "_" or "-"');
const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).max(500);
const price = z.number().nonnegative().max(1_000_000);

const Price = z.strictObject({
  input: price.describe('the price of a million input tokens'),
  output: price.describe('the price of a million output tokens, reasoning included'),
  cache_read: price.default(0).describe('the price of a million tokens read from a prompt cache'),
  cache_write: price.default(0).describe('the price of a million tokens written to a prompt cache'),
});

const whole = (least: number, most: number) => z.int().min(least).max(most);

const Prices = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be a code of ISO 4217, such as EUR')
    .nullable()
    .default(null)
    .describe('the currency of all prices, as a code of ISO 4217'),
  models: z.record(z.string().min(1).max(200), Price).default({}),
});

const Retention = z.strictObject({
  days: whole(1, 365).default(30).describe('tasks, events and sums that are older are removed'),
  tasks: whole(100, 1_000_000)
    .default(200_000)
    .describe('the maximum number of tasks; the oldest are removed'),
  events: whole(1_000, 10_000_000)
    .default(2_000_000)
    .describe('the maximum number of events in timelines; the oldest are removed'),
});

const Console = z.strictObject({
  allowed_hosts: z
    .array(z.string().min(1).max(253))
    .max(50)
    .default([])
    .describe('hosts under which browsers reach the console, beside loopback'),
  nats: z.strictObject({
    servers: z.array(z.string().min(1).max(500)).min(1).max(10).describe('the NATS servers'),
    tls: ClientTlsSchema.optional().describe('certificates for NATS'),
  }),
  profiles: z
    .record(name, z.strictObject({ url: url.describe('the base URL of each member of the fleet') }))
    .refine((profiles) => Object.keys(profiles).length > 0, 'must name at least one profile'),
  tls: ClientTlsSchema.optional().describe('certificates for the members'),
  entry: name.describe('the orchestrator: it takes dispatches from the console and checks tokens'),
  trader: name.default('trader').describe('the member whose [books](trader.md#books) the console shows'),
  stale_after_s: whole(5, 3_600)
    .default(40)
    .describe('a view is stale after this time without an event or an announce'),
  retention: Retention.prefault({}),
  prices: Prices.prefault({}),
  grafana_url: url
    .nullable()
    .default(null)
    .describe('the address of the link to Grafana in the header of the console'),
  trace_url: url.nullable().default(null).describe('a link to a trace, with `{trace_id}` for its ID'),
});

/** The strict schema of console.yaml (docs/configuration.md#consoleyaml). */
export const ConsoleConfigSchema = z.strictObject({ console: Console }).superRefine(({ console }, ctx) => {
  if (console.entry in console.profiles) return;
  const message = `must be one of console.profiles: ${Object.keys(console.profiles).join(', ')}`;
  ctx.addIssue({ code: 'custom', path: ['console', 'entry'], message });
});

export type ConsoleConfig = z.output<typeof ConsoleConfigSchema>['console'];
