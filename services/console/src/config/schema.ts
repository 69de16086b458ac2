import { z } from 'zod';

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be a name of letters, digits, "_" or "-"');
const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).max(500);
const price = z.number().nonnegative().max(1_000_000);

const Price = z.strictObject({
  input: price.describe('Price of a million input tokens'),
  output: price.describe('Price of a million output tokens, reasoning included'),
  cache_read: price.default(0).describe('Price of a million tokens that are read from a prompt cache'),
  cache_write: price.default(0).describe('Price of a million tokens that are written to a prompt cache'),
});

const Prices = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be a code of ISO 4217, such as EUR')
    .nullable()
    .default(null)
    .describe('Currency of all prices'),
  models: z.record(z.string().min(1).max(200), Price).default({}).describe('Prices by the name of the model'),
});

const Retention = z.strictObject({
  days: z
    .number()
    .int()
    .min(1)
    .max(365)
    .default(30)
    .describe('Age at which tasks, events and sums are removed'),
  tasks: z.number().int().min(100).max(1_000_000).default(200_000).describe('Maximum number of tasks'),
  events: z.number().int().min(1_000).max(10_000_000).default(2_000_000).describe('Maximum number of events'),
});

const file = z.string().min(1).max(4_096);
const Tls = z
  .strictObject({
    ca_file: file.optional().describe('Issuers to trust, beside those that Node trusts'),
    cert_file: file.optional().describe('The client certificate'),
    key_file: file.optional().describe('The key of the client certificate'),
  })
  .refine(({ cert_file, key_file }) => (cert_file === undefined) === (key_file === undefined), {
    error: 'needs both cert_file and key_file: a certificate is of use with its key only',
  });

const Console = z.strictObject({
  allowed_hosts: z
    .array(z.string().min(1).max(253))
    .max(50)
    .default([])
    .describe('Hosts under which browsers reach the console, beside loopback'),
  nats: z.strictObject({
    servers: z.array(z.string().min(1).max(500)).min(1).max(10).describe('NATS servers'),
    tls: Tls.optional().describe('Certificates for NATS'),
  }),
  profiles: z
    .record(name, z.strictObject({ url: url.describe('Base URL of the profile') }))
    .refine((profiles) => Object.keys(profiles).length > 0, 'must name at least one profile')
    .describe('The members of the fleet, by name'),
  tls: Tls.optional().describe('Certificates for the members'),
  entry: name.describe('The profile that takes dispatches and checks tokens: the orchestrator'),
  trader: name.default('trader').describe('The member whose books the console shows: the trader'),
  stale_after_s: z
    .number()
    .int()
    .min(5)
    .max(3_600)
    .default(40)
    .describe('A view is stale after this time without an event or an announce'),
  retention: Retention.prefault({}),
  prices: Prices.prefault({}),
  grafana_url: url.nullable().default(null).describe('Link to Grafana'),
  trace_url: url.nullable().default(null).describe('Link to a trace, with {trace_id} for its ID'),
});

/** The strict schema of console.yaml (docs/configuration.md#consoleyaml). */
export const ConsoleConfigSchema = z.strictObject({ console: Console }).superRefine(({ console }, ctx) => {
  if (console.entry in console.profiles) return;
  const message = `must be one of console.profiles: ${Object.keys(console.profiles).join(', ')}`;
  ctx.addIssue({ code: 'custom', path: ['console', 'entry'], message });
});

export type ConsoleConfig = z.output<typeof ConsoleConfigSchema>['console'];
