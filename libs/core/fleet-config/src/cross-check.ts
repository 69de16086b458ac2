import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import { isLoopback, normalizePeerUrl } from './peer-url.ts';

/** The name of SHARED_CALLER. */
const SHARED_NAME = 'peer';

type Path = (string | number)[];
type Report = (path: Path, message: string) => void;

/**
 * Checks what spans several keys of fleet.yaml. The checks run together with those of the fields, so that a start reports
 * all problems at once. Therefore `value` may be invalid.
 */
export function crossCheck(value: unknown, ctx: z.core.$RefinementCtx): void {
  const fleet = objectAt(value, 'fleet');
  if (!fleet) return;
  const report: Report = (path, message) =>
    ctx.addIssue({ code: 'custom', path: ['fleet', ...path], message });
  checkServer(fleet, report);
  checkAddresses(fleet, report);
  checkTiers(fleet, report);
  checkSpending(fleet, report);
  checkTls(fleet, report);
}

function checkServer(fleet: JsonObject, report: Report): void {
  const server = objectAt(fleet, 'server');
  if (fleet.enabled !== false && fleet.server === undefined)
    report(
      ['server'],
      'is required while fleet.enabled is true: add server.bind_port, or set enabled: false',
    );
  if (!server) return;
  const authRequired = server.auth_required !== false;
  const host = server.bind_host ?? '127.0.0.1';
  const callers = objectAt(server, 'callers');
  if (callers && Object.hasOwn(callers, SHARED_NAME))
    report(
      ['server', 'callers', SHARED_NAME],
      'is the name of the caller with the shared token: choose another name',
    );
  const accepted = server.token_env !== undefined || (callers && Object.keys(callers).length > 0);
  if (!authRequired && typeof host === 'string' && !isLoopback(host))
    report(
      ['server', 'auth_required'],
      `may be false only on loopback, and bind_host is ${host}: set it to true, or bind to 127.0.0.1`,
    );
  if (authRequired && !accepted)
    report(
      ['server', 'auth_required'],
      'is true, but no caller could log in: add token_env, or callers with a token_env each',
    );
}

function checkAddresses(fleet: JsonObject, report: Report): void {
  const server = objectAt(fleet, 'server');
  const own = server?.bind_port;
  const seen = new Map<string, string>();
  for (const [name, agent] of Object.entries(objectAt(fleet, 'agents') ?? {})) {
    const url = isJsonObject(agent) ? parseUrl(agent.url) : undefined;
    if (!url) continue;
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    if (isLoopback(url.hostname) && port === own)
      report(['agents', name, 'url'], `points at this profile's own port ${port}: give each profile its own`);
    const address = normalizePeerUrl(url.href);
    const other = seen.get(address);
    if (other !== undefined)
      report(['agents', name, 'url'], `is the address of ${other} too (${address}): each peer needs its own`);
    else seen.set(address, name);
  }
}

function checkTiers(fleet: JsonObject, report: Report): void {
  const tiers = fleet.tiers;
  if (!Array.isArray(tiers)) return;
  const known = `tiers are ${tiers.join(', ')}`;
  if (new Set(tiers).size !== tiers.length) report(['tiers'], 'names a tier twice: keep one of the two');
  const tier = fleet.tier;
  if (typeof tier === 'string' && !tiers.includes(tier)) report(['tier'], `is not a tier: ${known}`);
  const policy = objectAt(objectAt(fleet, 'routing'), 'tiers');
  for (const [priority, wanted] of Object.entries(objectAt(policy, 'by_priority') ?? {}))
    if (typeof wanted === 'string' && !tiers.includes(wanted))
      report(['routing', 'tiers', 'by_priority', priority], `is not a tier: ${known}`);
}

function checkTls(fleet: JsonObject, report: Report): void {
  const server = objectAt(fleet, 'server');
  const listener = objectAt(server, 'tls');
  if (listener) {
    const asks = listener.client_cert === 'optional' || listener.client_cert === 'required';
    const { client_ca_file: clientCa } = listener;
    if (asks && clientCa === undefined)
      report(['server', 'tls', 'client_ca_file'], 'is required: it has the issuers of client certificates');
    if (!asks && clientCa !== undefined)
      report(
        ['server', 'tls', 'client_cert'],
        'asks for none: set it to required or optional, or drop client_ca_file',
      );
    if (parseUrl(server?.public_url)?.protocol === 'http:')
      report(['server', 'public_url'], 'is http, and fleet.server.tls serves https: change it to https://');
  }
}

/** A ceiling for a name that no caller has would never apply. */
function checkSpending(fleet: JsonObject, report: Report): void {
  const server = objectAt(fleet, 'server');
  const shared = server?.token_env !== undefined || server?.auth_required === false ? [SHARED_NAME] : [];
  const callers = [...Object.keys(objectAt(server, 'callers') ?? {}), ...shared];
  for (const name of Object.keys(objectAt(objectAt(fleet, 'spending'), 'callers') ?? {}))
    if (!callers.includes(name))
      report(
        ['spending', 'callers', name],
        `is not a caller of this profile: callers are ${callers.join(', ') || 'missing in server.callers'}`,
      );
}

function objectAt(value: unknown, key: string): JsonObject | undefined {
  const item = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(item) ? item : undefined;
}

function parseUrl(value: unknown): URL | undefined {
  return typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
}
