import { FleetError, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { type EntryPoint, runEntryPoint, TIMEOUT_MS } from './entry-point.ts';

/**
 * Runs a service's entry point with `--doctor` and reads its report, whatever its exit code. Throws CONFIG_INVALID with
 * the process's error output when there is no report.
 */
export async function examine(
  name: string,
  entryPoint: EntryPoint,
  options: readonly string[] = [],
): Promise<JsonObject> {
  const { stdout, stderr } = await runEntryPoint(entryPoint, ['--doctor', ...options]);
  const report = parse(stdout);
  if (report) return report;
  const reason = stderr.trim() || `no report within ${TIMEOUT_MS / 1000} s`;
  throw new FleetError('CONFIG_INVALID', `the checks of ${name} ended without a report: ${reason}`);
}

function parse(text: string): JsonObject | undefined {
  const report = parseJson(text);
  return isJsonObject(report) && Array.isArray(report.findings) ? report : undefined;
}
