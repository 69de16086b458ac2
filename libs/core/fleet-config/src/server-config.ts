import { z } from 'zod';
import { namePatternProblem } from './name-pattern.ts';
import { httpUrl, int, name, path, reportProblem, text, variable } from './values.ts';

const portProblem = ({ input }: { readonly input?: unknown }): string =>
  input === undefined ? 'is required: a port from 1 to 65535' : 'must be a port from 1 to 65535';

const CallerEntry = z.strictObject({
  token_env: variable.describe('the token that identifies this caller; two callers may not share one'),
  scopes: z
    .array(z.string().regex(/^[a-z]+(:[a-z_]+)?$/, 'must be a scope such as "dispatch"'))
    .min(1)
    .describe('what it may do, see [Scopes](peering.md#scopes)'),
  speaks_for: z
    .array(z.string().superRefine(reportProblem(namePatternProblem)))
    .max(64)
    .default([])
    .describe('further names that this caller may announce'),
});

const ListenerTls = z.strictObject({
  cert_file: path.describe("the listener's certificate in PEM, its intermediates after it"),
  key_file: path.describe('the key of that certificate, without a passphrase'),
  client_ca_file: path
    .optional()
    .describe('the issuers of client certificates; required where one is asked for'),
  client_cert: z
    .enum(['none', 'optional', 'required'])
    .default('none')
    .describe('whether callers show a certificate'),
});

/** The listener, and who may call it. */
export const Server = z.strictObject({
  bind_host: text
    .default('127.0.0.1')
    .describe('the address to listen on. Any address except loopback requires `auth_required`'),
  bind_port: int({ error: portProblem }).min(1).max(65_535).describe('the port to listen on'),
  auth_required: z
    .boolean()
    .default(true)
    .describe('`false`: every caller is `peer`, and [foreign](peering.md#hosts) requests are refused'),
  token_env: variable
    .optional()
    .describe('one token for all callers, who all become `peer` (scopes announce, dispatch, read)'),
  callers: z.record(name, CallerEntry).optional(),
  public_url: httpUrl
    .optional()
    .describe('the address given to peers and in the agent card; default: the bind address'),
  allowed_hosts: z
    .array(text)
    .max(32)
    .default([])
    .describe("further hosts of the profile's addresses, without port, see [Hosts](peering.md#hosts)"),
  tls: ListenerTls.optional().describe('the listener serves [https](peering.md#tls); without it, plain http'),
});
