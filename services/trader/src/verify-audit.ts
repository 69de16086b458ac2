import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Head, readHead } from '@hermes-fleet/events';
import { FleetConfigSchema, resolveTokens } from '@hermes-fleet/fleet-config';
import { busConnection, type MemberEnvironment } from '@hermes-fleet/member';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';
import { openReader, type Reader } from '@hermes-fleet/store';
import { recordsAfter } from './store/audit.ts';
import { CONTROL } from './store/schema.ts';
import { verifyAudit } from './store/verify.ts';

/** How long NATS is waited for: without it the file alone is judged, and the report says so. */
const HEAD_MS = 5_000;
const OPTIONS = {
  'verify-audit': { type: 'boolean' },
  'show-audit': { type: 'boolean' },
  after: { type: 'string' },
  limit: { type: 'string' },
  profile: { type: 'string' },
} as const;

/** Whether this command line asks about the audit, instead of starting the trader. */
export const asksAboutAudit = (argv: readonly string[]): boolean =>
  argv.includes('--verify-audit') || argv.includes('--show-audit');

/**
 * `--verify-audit` prints a report of the whole chain, compared with the head that NATS holds where that answers, and
 * ends with 1 when it is broken. `--show-audit --after <seq> --limit <count>` prints records. One JSON object a line.
 * Both read the file and write nothing, so they may run beside the trader. Throws CONFIG_INVALID, STORE_UNAVAILABLE.
 */
export async function lookAtAudit(
  argv: readonly string[],
  environment: MemberEnvironment,
  processEnv: NodeJS.ProcessEnv,
): Promise<void> {
  const { values } = parseArgs({ args: [...argv], options: OPTIONS, strict: true });
  const file = join(environment.stateDir, 'control.db');
  // Asked first: what was published by then is in a file that is whole.
  const published = values['verify-audit'] ? await publishedHead(environment, processEnv) : undefined;
  mayBeRead(file);
  const reader = openReader(file, CONTROL);
  try {
    if (published) {
      const report = await verifyFile(reader, published);
      print({ file, ...report });
      process.exitCode = report.ok === true ? 0 : 1;
    } else {
      const [after, limit] = [count('after', values.after, 0), count('limit', values.limit, 100)];
      for (const record of reader.read((db) => recordsAfter(db, after, limit))) print({ ...record });
    }
  } finally {
    reader.close();
  }
}

/** A file of another user is not one that is missing. Throws CONFIG_INVALID. */
function mayBeRead(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EACCES')) return;
    throw new FleetError(
      'CONFIG_INVALID',
      `${file} cannot be read: run this as the user that it belongs to`,
      {
        cause,
      },
    );
  }
}

type Published = { readonly head: Head | undefined } | { readonly problem: string };

async function verifyFile(reader: Reader, published: Published): Promise<JsonObject> {
  const known = 'head' in published ? published.head : undefined;
  const { ok, records, head, broken } = await verifyAudit(reader, known === undefined ? {} : { known });
  return {
    ok,
    records,
    head: { ...head },
    ...(broken === undefined ? {} : { broken: { ...broken } }),
    published:
      'problem' in published
        ? { state: 'not asked', reason: published.problem }
        : { state: 'asked', seq: known?.seq ?? null, hash: known?.hash ?? null },
  };
}

/** The head that NATS holds, or why it could not be asked: neither a broken fleet.yaml nor an outage hides the file. */
async function publishedHead(
  environment: MemberEnvironment,
  processEnv: NodeJS.ProcessEnv,
): Promise<Published> {
  try {
    const env = createSecretEnv(processEnv);
    const file = join(environment.dir, 'fleet.yaml');
    const config = loadYamlConfig({ file, schema: FleetConfigSchema, env }).value;
    const { nats } = config.fleet;
    if (!nats) return { problem: 'fleet.yaml names no broker' };
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

const print = (value: JsonObject): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
