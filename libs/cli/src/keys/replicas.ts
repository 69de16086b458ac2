import { existsSync, readdirSync } from 'node:fs';
import { FleetError } from '@hermes-fleet/protocol';
import { type keyPaths, ORCHESTRATOR, TRADER } from './layout.ts';

/** The largest number of replicas of a service. Each has a NATS user, and NATS reads them all at its start. */
const MAX_REPLICAS = 10_000;
const PASSWORD = /^([a-z][a-z0-9-]{0,62})\.NATS_PASSWORD$/;

/** A member that shares the keys of a service and has a NATS user of its own (docs/machines.md#replicas-of-a-profile). */
export interface Replica {
  readonly service: string;
  readonly name: string;
}

/** The numbers of replicas by service, from texts such as `neo=3`. Throws CONFIG_INVALID that names every problem. */
export function parseReplicas(
  texts: readonly string[],
  services: readonly string[],
): ReadonlyMap<string, number> {
  const seen = new Set<string>();
  const fields = texts.flatMap((text) => {
    const [service = '', count = ''] = text.split('=');
    if (seen.has(service)) return [{ path: text, reason: `is the second number for ${service}` }];
    seen.add(service);
    if (!services.includes(service)) return [{ path: text, reason: `is not of ${services.join(', ')}` }];
    if (service === ORCHESTRATOR || service === TRADER)
      return [{ path: text, reason: `${service} is not a worker, and only workers can have replicas` }];
    if (/^\d{1,5}$/.test(count) && Number(count) <= MAX_REPLICAS) return [];
    return [{ path: text, reason: `must be <service>=<number>, at most ${MAX_REPLICAS}` }];
  });
  if (fields.length > 0) throw new FleetError('CONFIG_INVALID', 'these cannot be replicas', { fields });
  return new Map(texts.map((text) => [text.split('=')[0] ?? '', Number(text.split('=')[1])]));
}

/**
 * The replicas `<service>-1` to `<service>-<count>` of each service, and those that have keys already: whoever runs the
 * command without the counts takes no replica off the bus.
 */
export function replicasOf(
  services: readonly string[],
  counts: ReadonlyMap<string, number>,
  paths: ReturnType<typeof keyPaths>,
): Replica[] {
  return services.flatMap((service) => {
    const wanted = Array.from({ length: counts.get(service) ?? 0 }, (_, at) => `${service}-${at + 1}`);
    const folder = paths.folder(service);
    const present = existsSync(folder) ? readdirSync(folder) : [];
    const known = present.flatMap((file) => PASSWORD.exec(file)?.[1] ?? []).sort();
    return [...new Set([...wanted, ...known])].map((name) => ({ service, name }));
  });
}
