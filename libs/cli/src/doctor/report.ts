import { spawn } from 'node:child_process';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

const GIVE_UP_MS = 60_000;
const MAX_OUTPUT = 4 * 1024 * 1024;

/**
 * Runs the checks of a profile in a process of its own (its entry point with `--doctor`) and reads their report.
 * Throws CONFIG_INVALID, with what the process said, when it ends without one.
 */
export async function examine(o: {
  readonly entryPoint: string;
  readonly profile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}): Promise<JsonObject> {
  const child = spawn(process.execPath, [o.entryPoint, '--profile', o.profile, '--doctor'], {
    ...{ cwd: o.cwd, env: o.env, timeout: GIVE_UP_MS, killSignal: 'SIGKILL' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout = (stdout + chunk).slice(0, MAX_OUTPUT);
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(0, MAX_OUTPUT);
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  const report = parse(stdout);
  if (report) return report;
  const said = stderr.trim() || `no report within ${GIVE_UP_MS / 1000} s`;
  throw new FleetError('CONFIG_INVALID', `the checks of ${o.profile} ended without a report: ${said}`);
}

function parse(text: string): JsonObject | undefined {
  try {
    const report: unknown = JSON.parse(text);
    return isJsonObject(report) && Array.isArray(report.findings) ? report : undefined;
  } catch {
    // Not a report: the caller says what the process said instead.
    return undefined;
  }
}
