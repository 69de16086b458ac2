import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Head, readHead } from '@hermes-fleet/events';
import { FleetConfigSchema, resolveTokens } from '@hermes-fleet/fleet-config';
import { busConnection, type MemberEnvironment } from '@hermes-fleet/gateway/member';
import { FleetError } from '@hermes-fleet/protocol';
import type { Answer, AuditReport } from '@hermes-fleet/protocol/api';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';
import { openReader, type Reader } from '@hermes-fleet/store';
import { recordsAfter } from './store/audit.ts';
import { CONTROL } from './store/schema.ts';
import { verifyAudit } from './store/verify.ts';
import { compareWitness, readWitness, type Witness } from './witness.ts';

/** Longest wait for NATS. Without it only the file is verified, and the report says so. */
const HEAD_MS = 5_000;
const OPTIONS = {
  'verify-audit': { type: 'boolean' },
  'show-audit': { type: 'boolean' },
  after: { type: 'string' },
  limit: { type: 'string' },
  witness: { type: 'string' },
  profile: { type: 'string' },
} as const;

/** True for a command line that reads the audit instead of starting the trader. */
export const isAuditCommand = (argv: readonly string[]): boolean =>
  argv.includes('--verify-audit') || argv.includes('--show-audit');

/**
 * `--verify-audit` verifies the whole chain and its tables, compares it with the head in NATS if that is reachable and with
 * `--witness`, what the console has seen, prints a report and exits with 1 if the audit is broken. `--show-audit --after <seq> --limit <count>` prints records. The output is one JSON
 * object per line. Both only read the file, so they may run beside the trader. Throws CONFIG_INVALID, STORE_UNAVAILABLE.
 */
export async function readAudit(
  argv: readonly string[],
  environment: MemberEnvironment,
  processEnv: NodeJS.ProcessEnv,
): Promise<void> {
  const { values } = parseArgs({ args: [...argv], options: OPTIONS, strict: true });
  const file = join(environment.stateDir, 'control.db');
  // Read first: an intact file contains every head that was published before it is opened.
  const published = values['verify-audit'] ? await publishedHead(environment, processEnv) : undefined;
  const witness = readWitness(values.witness, environment.name);
  assertReadable(file);
  const reader = openReader(file, CONTROL);
  try {
    if (published) {
      const report: Answer<typeof AuditReport> = { file, ...(await verifyFile(reader, published, witness)) };
      print(report);
      process.exitCode = report.ok ? 0 : 1;
    } else {
      const [after, limit] = [count('after', values.after, 0), count('limit', values.limit, 100)];
      for (const record of reader.read((db) => recordsAfter(db, after, limit))) print(record);
    }
  } finally {
    reader.close();
  }
}

/** Throws CONFIG_INVALID for a file of another user, which would otherwise be reported as missing. */
function assertReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EACCES')) return;
    throw new FleetError('CONFIG_INVALID', `${file} cannot be read: run this as its owner`, {
      cause,
    });
  }
}

type Published = { readonly head: Head | undefined } | { readonly problem: string };

async function verifyFile(reader: Reader, published: Published, witness: Witness) {
  const known = 'head' in published ? published.head : undefined;
  const report = await verifyAudit(reader, known === undefined ? {} : { known });
  const { records, head, accepted = [] } = report;
  const seen = compareWitness(reader, witness, accepted);
  const broken = report.broken ?? seen.broken;
  const ok = broken === undefined;
  return {
    ok,
    records,
    head,
    ...(broken === undefined ? {} : { broken }),
    accepted: accepted.map((each) => ({ ...each, published: each.published ?? null })),
    published:
      'problem' in published
        ? { state: 'not asked' as const, reason: published.problem }
        : { state: 'asked' as const, seq: known?.seq ?? null, hash: known?.hash ?? null },
    witness: seen.document,
  };
}

/** The head in NATS, or why it is unavailable: the file is verified despite an invalid fleet.yaml or an outage. */
async function publishedHead(
  environment: MemberEnvironment,
  processEnv: NodeJS.ProcessEnv,
): Promise<Published> {
  try {
    const env = createSecretEnv(processEnv);
    const file = join(environment.dir, 'fleet.yaml');
    const config = loadYamlConfig({ file, schema: FleetConfigSchema, env }).value;
    const { nats } = config.fleet;
    if (!nats) return { problem: 'fleet.yaml configures no broker' };
    const connection = busConnection(nats, `fleet/${environment.name}/audit`, resolveTokens(config, env).bus);
    return { head: await readHead({ connection, service: environment.name, timeoutMs: HEAD_MS }) };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { problem: error.message };
  }
}

function count(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new FleetError('CONFIG_INVALID', `--${name} must be a whole number, not "${text}"`);
}

const print = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
