import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { askEntryPoint, GIVE_UP_MS, type Question } from '../local/entry-point.ts';

/**
 * Runs the checks of a member in a process of its own (its entry point with `--doctor`) and reads their report.
 * Throws CONFIG_INVALID, with what the process said, when it ends without one.
 */
export async function examine(
  name: string,
  o: Pick<Question, 'command' | 'env' | 'cwd'>,
): Promise<JsonObject> {
  const { stdout, stderr } = await askEntryPoint({ ...o, question: ['--doctor'] });
  const report = parse(stdout);
  if (report) return report;
  const said = stderr.trim() || `no report within ${GIVE_UP_MS / 1000} s`;
  throw new FleetError('CONFIG_INVALID', `the checks of ${name} ended without a report: ${said}`);
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
