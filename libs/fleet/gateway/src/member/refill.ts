import { join } from 'node:path';
import { type Acknowledged, refill, refillReader } from '@hermes-fleet/events';
import type { Credentials, FleetConfig } from '@hermes-fleet/fleet-config';
import { openOutbox } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { Answer, RefillReport as Report } from '@hermes-fleet/protocol/api';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { busConnection } from './bus.ts';
import type { MemberEnvironment } from './environment.ts';

/** A store of a member whose events are on the bus. */
export interface RefillSource {
  readonly source: Acknowledged;
  readonly subjectPrefixes: readonly string[];
}

/** The output of `--refill`, printed as one line of JSON. */
export type RefillReport = Answer<typeof Report>;

export interface RefillMemberOptions {
  readonly environment: MemberEnvironment;
  readonly config: FleetConfig;
  readonly login: Credentials['bus'];
  /** The stores of the member beside its ledger. */
  readonly others?: readonly RefillSource[];
  /** Only find out what is missing. */
  readonly dryRun: boolean;
}

/**
 * Publishes again what the bus has acknowledged and the stream lacks (docs/operations.md#refill-a-stream). Only reads the
 * stores, so it may run beside the member itself. Throws CONFIG_INVALID without a broker or a ledger, PEER_UNREACHABLE when
 * the bus does not answer.
 */
export async function refillMember(options: RefillMemberOptions): Promise<RefillReport> {
  const { environment, config, login, others = [], dryRun } = options;
  const { name: profile, stateDir } = environment;
  const { nats } = config.fleet;
  if (!nats)
    throw new FleetError('CONFIG_INVALID', 'fleet.nats names no broker: there is no stream to refill');
  const ledger = openOutbox(join(stateDir, 'ledger.db'), profile);
  try {
    const sources = [{ source: ledger, subjectPrefixes: [`fleet.task.${profile}`] }, ...others];
    const report = { acknowledged: 0, missing: 0, published: 0 };
    for (const { source, subjectPrefixes } of sources) {
      const done = await refill({
        connection: busConnection(nats, `fleet/${profile}/refill`, login),
        source,
        subjectPrefixes,
        reader: refillReader(profile),
        clock: systemClock,
        dryRun,
      });
      report.acknowledged += done.acknowledged;
      report.missing += done.missing;
      report.published += done.published;
    }
    return { profile, ...report, removed_tasks: ledger.removedTasks() };
  } finally {
    ledger.close();
  }
}
