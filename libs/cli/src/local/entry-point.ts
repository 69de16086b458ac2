import { spawn } from 'node:child_process';
import { type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import { type Answer, DoctorReport } from '@hermes-fleet/protocol/api';
import type { z } from 'zod';

const MAX_OUTPUT = 64 * 1024 * 1024;

/** Default time limit of a run, in ms. */
export const TIMEOUT_MS = 60_000;

/** A service's entry point. */
export interface EntryPoint {
  /** The file to run, and the arguments that select the service (commandOf). */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/**
 * Runs an entry point with arguments that make it report and exit instead of serving. Kills it after `timeoutMs`, and
 * keeps at most 64 MiB of each output stream.
 */
export async function runEntryPoint(
  entryPoint: EntryPoint,
  args: readonly string[],
  timeoutMs = TIMEOUT_MS,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [...entryPoint.command, ...args], {
    cwd: entryPoint.cwd,
    env: entryPoint.env,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout = (stdout + chunk).slice(0, MAX_OUTPUT);
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(0, MAX_OUTPUT);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stdout, stderr };
}

interface ReportOptions {
  /** What it means that there is no report, such as `the audit could not be read`. */
  readonly otherwise: string;
  readonly code?: ErrorCode;
  readonly timeoutMs?: number;
}

/**
 * Runs an entry point and returns the reports that it prints, one a line, whatever its exit code. Throws `code`, by default
 * CONFIG_INVALID, with the error output of the process, where a line is no report, or it fails without one.
 */
export async function readReports<S extends z.ZodType>(
  entryPoint: EntryPoint,
  args: readonly string[],
  schema: S,
  { otherwise, code: errorCode = 'CONFIG_INVALID', timeoutMs = TIMEOUT_MS }: ReportOptions,
): Promise<readonly Answer<S>[]> {
  const { code, stdout, stderr } = await runEntryPoint(entryPoint, args, timeoutMs);
  const lines = stdout.split('\n').filter((line) => line !== '');
  const found = lines.flatMap((line) => reportIn(line, schema));
  if (found.length === lines.length && (code === 0 || found.length > 0)) return found;
  const end = code === null ? `no report within ${timeoutMs / 1000} s` : `it ended with exit code ${code}`;
  throw new FleetError(errorCode, `${otherwise}: ${stderr.trim() || end}`);
}

/** As `readReports`, of an entry point that prints one. */
export async function readReport<S extends z.ZodType>(
  entryPoint: EntryPoint,
  args: readonly string[],
  schema: S,
  options: ReportOptions,
): Promise<Answer<S>> {
  const [report] = await readReports(entryPoint, args, schema, options);
  if (report !== undefined) return report;
  throw new FleetError(options.code ?? 'CONFIG_INVALID', `${options.otherwise}: it reported nothing`);
}

function reportIn<S extends z.ZodType>(line: string, schema: S): Answer<S>[] {
  try {
    const report = JSON.parse(line);
    // The report itself, with what the schema does not have.
    return schema.safeParse(report).success ? [report] : [];
  } catch {
    return [];
  }
}

/** The checks of a service (docs/operations.md#diagnose-a-profile-fleet-doctor). Throws as `readReport`. */
export const examine = (name: string, entryPoint: EntryPoint, options: readonly string[] = []) =>
  readReport(entryPoint, ['--doctor', ...options], DoctorReport, {
    otherwise: `the checks of ${name} ended without a report`,
  });
